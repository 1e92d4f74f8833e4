// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"xenvmm/xenshim/abi"
)

// anyDepth is the depth of a watch that fires for all levels below its path.
const anyDepth = -1

// watch is one registration of a connection.
type watch struct {
	path   string // absolute, or the name of a special event
	token  string
	strip  int  // bytes to leave out at the front of event paths
	depth  int  // levels below path that fire it; anyDepth for all
	gone   bool // unregistered: queued events are dropped
	coarse bool // a coarse event is queued, see queue.event
}

// shown is path as the events of this watch spell it.
func (w *watch) shown(path string) string { return path[w.strip:] }

// fits reports whether no event of the watch can exceed the payload limit. An
// event carries a path below the watched one, so the longest permitted path
// counts, in the form the watch uses.
func (w *watch) fits() bool {
	longest := len(w.path)
	if w.path[0] != '@' && w.depth != 0 {
		longest = abi.XenstoreAbsPathMax
	}
	return longest-w.strip+len(w.token)+2 <= abi.XenstorePayloadMax
}

// matches reports whether a change of path fires the watch.
func (w *watch) matches(c *change) bool {
	if c.exact {
		return w.path == c.path
	}
	levels, ok := below(c.path, w.path)
	return ok && (w.depth == anyDepth || levels <= w.depth)
}

// watch registers a watch and queues its first event. Errors: EINVAL for a bad
// path or a token with which an event could grow too long, EEXIST, E2BIG over
// the quota.
func (c *conn) watch(path, token string, depth int) (*watch, abi.Errno) {
	w := &watch{token: token, depth: depth}
	if len(path) > 0 && path[0] == '@' {
		if !validSpecial(path) {
			return nil, abi.EINVAL
		}
		w.path = path
	} else {
		abs, relative, ok := absolute(c.home, path)
		if !ok {
			return nil, abi.EINVAL
		}
		if relative {
			w.strip = len(c.home) + 1
		}
		w.path = abs
	}
	if !w.fits() {
		return nil, abi.EINVAL
	}
	for _, o := range c.watches {
		if o.path == w.path && o.token == token {
			return nil, abi.EEXIST
		}
	}
	if !c.who.privileged && len(c.watches) >= c.store.quotas.Watches {
		return nil, abi.E2BIG
	}
	c.watches = append(c.watches, w)
	return w, abi.OK
}

func (c *conn) unwatch(path, token string) abi.Errno {
	abs := path
	if len(path) == 0 || path[0] != '@' {
		var ok bool
		if abs, _, ok = absolute(c.home, path); !ok {
			return abi.EINVAL
		}
	}
	for i, w := range c.watches {
		if w.path == abs && w.token == token {
			w.gone = true
			c.queue.forget(w)
			c.watches = append(c.watches[:i:i], c.watches[i+1:]...)
			return abi.OK
		}
	}
	return abi.ENOENT
}

// fire queues an event at every watch that the change matches and whose domain
// may know of it. Callers hold mu and run wakeAll after unlocking.
func (s *Store) fire(ch change) {
	for _, c := range s.conns {
		if len(c.watches) == 0 {
			continue
		}
		if !c.who.may(ch.before, Read) && !c.who.may(ch.after, Read) && !c.who.may(ch.above, Read) {
			continue
		}
		for _, w := range c.watches {
			if w.path[0] != '@' && w.matches(&ch) {
				c.post(w, ch.path)
			}
		}
	}
}

// fireSpecial queues a special event. Only domain 0 is told: a guest may
// register the watch but learns nothing about other domains.
func (s *Store) fireSpecial(name string) {
	for _, c := range s.conns {
		if !c.who.privileged {
			continue
		}
		for _, w := range c.watches {
			if w.path == name {
				c.post(w, name)
			}
		}
	}
}
