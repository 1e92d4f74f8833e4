// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Resolver turns guest physical ranges into host addresses.
type Resolver interface {
	// Resolve returns the host address of the guest physical range
	// [gpa, gpa+n), which lies in one page, prefaulted writable. It is called
	// with no lock of this package held but the cache's refresh mutex, which no
	// invalidation takes; it may wait for a lock that the caller of
	// InvalidateStart holds, but not for a Refresh.
	Resolve(gpa, n uint64) (hva uintptr, err error)
	// MarkDirty notes that the range was written. It is called after the write,
	// possibly for a range that was written only in part or not at all. It is
	// on the delivery path: it neither blocks nor allocates.
	MarkDirty(gpa, n uint64)
}

// A DirtyTracker is a Resolver that can say whether anybody wants to know of
// writes. Whoever delivers events asks that before each MarkDirty, and spares the
// call if nobody does.
type DirtyTracker interface {
	// DirtyTracking returns the same variable each time. MarkDirty may be left
	// out after a write during which it was false.
	DirtyTracking() *atomic.Bool
}

// Options of a Set.
type Options struct {
	// Guard is the name of one of Guards(), "srcu" if empty. Benchmarks may have
	// those that BenchGuards() adds.
	Guard string
	// Log receives warnings about readers that hold invalidations up. Nil
	// discards them.
	Log *slog.Logger
}

// A Set is the caches of one virtual machine and their guard. All methods may
// be called from any goroutine.
type Set struct {
	resolver Resolver
	tracking *atomic.Bool // whether MarkDirty has to be called after writes
	guard    guard
	invalid  *mapping // what caches point to while they have no translation
	txns     transactions
	gate     gate
	hooks    atomic.Pointer[[]func()]
	born     time.Time
	// restoreOwed is when, since born, the first transaction ended after which
	// the hooks have not run yet; 0: none.
	restoreOwed atomic.Int64
	index       atomic.Pointer[directory]
	counters    counters
	drains      histogram

	mu     sync.Mutex // index and hooks updates, ids
	lastID uint64
}

// NewSet returns a Set without caches.
func NewSet(r Resolver, o Options) (*Set, error) {
	name := o.Guard
	if name == "" {
		name = guards[0].name
	}
	i := slices.IndexFunc(guards, func(g guardType) bool { return g.name == name })
	if i < 0 {
		return nil, fmt.Errorf("gpc: unknown guard %q: use one of %s", o.Guard, strings.Join(Guards(), ", "))
	}
	s := &Set{resolver: r, guard: guards[i].make(o), invalid: new(mapping), born: time.Now()}
	if t, ok := r.(DirtyTracker); ok {
		s.tracking = t.DirtyTracking()
	} else {
		s.tracking = new(atomic.Bool)
		s.tracking.Store(true)
	}
	s.hooks.Store(new([]func()))
	s.index.Store(new(directory))
	return s, nil
}

// OnRestore registers f, to be called after invalidations have ended: whatever
// could not be delivered while memory was away is replayed from it. Calls are
// made by the goroutine that ends the invalidation, outside all locks of this
// package; f may Refresh and Deliver. Hooks are registered before use.
func (s *Set) OnRestore(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hooks := append(slices.Clone(*s.hooks.Load()), f)
	s.hooks.Store(&hooks)
}

// NewCache returns an inactive cache. The name appears in errors.
func (s *Set) NewCache(name string) *Cache { return s.NewGuestCache(name, nil) }

// NewGuestCache returns an inactive cache for a frame that a running vCPU uses
// by itself, without entering a section. evict stops that use: it makes the
// vCPU leave guest mode and returns once it has. It is called for each
// invalidation, move or deactivation of the cache, before that returns, from
// the goroutine that does it, possibly several at once and possibly the vCPU's
// own. It reports whether the vCPU is out; only with mayBlock false may it
// return false, instead of waiting.
func (s *Set) NewGuestCache(name string, evict func(mayBlock bool) (done bool)) *Cache {
	s.mu.Lock()
	s.lastID++
	id := s.lastID
	s.mu.Unlock()
	c := &Cache{set: s, name: name, id: id, evict: evict}
	c.m.Store(s.invalid)
	return c
}

// markDirty passes a write to c on to the Resolver. If the mapping has gone in
// the meantime, whoever withdrew it marks the page after its grace period, that
// is, after the write.
func (s *Set) markDirty(c *Cache) {
	if s.tracking.Load() {
		s.mark(c)
	}
}

func (s *Set) mark(c *Cache) {
	if m := c.m.Load(); m.valid() {
		s.resolver.MarkDirty(m.gpa, m.n)
	}
}
