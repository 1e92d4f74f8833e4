// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"xenvmm/xenshim/abi"
)

// Config describes a Store.
type Config struct {
	Domain abi.DomID    // the guest, e.g. 1
	Quotas Quotas       // zero fields take the defaults
	Log    *slog.Logger // nil discards
}

// Store is the tree, as domain 0 sees it through the methods and as the guest
// sees it through a Ring.
type Store struct {
	domain abi.DomID
	quotas Quotas
	log    *slog.Logger

	mu         sync.Mutex
	nodes      map[string]*node
	owners     map[abi.DomID]int // nodes by owner
	gen        uint64
	conns      []*conn
	open       map[*transaction]struct{} // of all connections
	introduced map[abi.DomID]bool
	waking     map[*conn]struct{} // connections to wake when mu is released
}

// NewStore returns a tree that holds the root and /local/domain, which domain
// 0 owns and no other domain may read.
func NewStore(cfg Config) *Store {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{
		domain: cfg.Domain, quotas: cfg.Quotas.withDefaults(), log: cfg.Log,
		nodes: map[string]*node{}, owners: map[abi.DomID]int{},
		open:       map[*transaction]struct{}{},
		introduced: map[abi.DomID]bool{abi.DomIDBackend: true},
		waking:     map[*conn]struct{}{},
	}
	treeView{s}.put("/", &node{perms: []Perm{{Dom: abi.DomIDBackend, Access: None}}})
	s.host().mkdir("/local/domain")
	return s
}

// Domain is the id of the guest.
func (s *Store) Domain() abi.DomID { return s.domain }

// host is the operations with the rights of domain 0 on the tree itself.
func (s *Store) host() ops {
	return ops{v: treeView{s}, who: cred{dom: abi.DomIDBackend, privileged: true}, q: &s.quotas}
}

// locked runs f with mu held and wakes the connections that got events.
func (s *Store) locked(f func()) {
	s.mu.Lock()
	f()
	var wake []func()
	for c := range s.waking {
		delete(s.waking, c)
		if c.wake != nil {
			wake = append(wake, c.wake)
		}
	}
	s.mu.Unlock()
	for _, w := range wake {
		w()
	}
}

// connect adds a client.
func (s *Store) connect(who cred, wake func()) *conn {
	c := &conn{store: s, who: who, home: DomainPath(who.dom), wake: wake}
	c.queue.limit = s.quotas.Events
	s.locked(func() { s.conns = append(s.conns, c) })
	return c
}

func (s *Store) disconnect(c *conn) {
	s.locked(func() {
		c.drop()
		delete(s.waking, c)
		s.conns = slices.DeleteFunc(s.conns, func(o *conn) bool { return o == c })
	})
}

// setIntroduced records whether the guest's ring is served and fires the
// special event that tells of it.
func (s *Store) setIntroduced(on bool) {
	s.locked(func() {
		name := "@introduceDomain"
		if on {
			s.introduced[s.domain] = true
		} else {
			delete(s.introduced, s.domain)
			name = "@releaseDomain"
		}
		s.fireSpecial(name)
	})
}

// ReleaseDomain removes every node that the guest owns, and what is under it,
// wherever it is, and ends the watches and transactions of its connections:
// what is to be done before the same guest starts anew. Nothing remains on
// its quota.
func (s *Store) ReleaseDomain() {
	s.locked(func() {
		for _, c := range s.conns {
			if c.who.dom == s.domain {
				c.reset()
			}
		}
		var owned []string
		for p, n := range s.nodes {
			if n.owner() == s.domain {
				owned = append(owned, p)
			}
		}
		slices.Sort(owned) // parents first: fewer removals, and a fixed order
		for _, p := range owned {
			if s.nodes[p] != nil {
				s.host().rm(p)
			}
		}
	})
}

// opError names the operation and the path of a failed host operation; it
// wraps the abi.Errno.
func opError(op, path string, e abi.Errno) error {
	if e == abi.OK {
		return nil
	}
	return fmt.Errorf("xenstore: %s %q: %w", op, path, e)
}
