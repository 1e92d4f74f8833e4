// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// A Cache is the translation of one range of guest physical memory, at most a
// page, to a host address. It is
//
//	inactive  no place; never valid
//	stale     has a place but no mapping: operations fail until Refresh
//	valid     has a mapping of its place
//
// Activate makes it stale and then valid, an invalidation makes it stale,
// Refresh makes it valid again, Deactivate makes it inactive. All methods may be
// called from any goroutine. Activate and Refresh wait for invalidations in
// progress, so a goroutine that is between an InvalidateStart and its
// InvalidateEnd must not call them: they would return ErrBusy after a while.
type Cache struct {
	m     atomic.Pointer[mapping] // never nil
	place atomic.Pointer[place]   // nil: inactive
	set   *Set
	name  string
	id    uint64
	evict func(mayBlock bool) (done bool) // nil unless a guest-mode cache

	_ linePad // keep lock traffic off the line that all readers share

	rw sync.RWMutex // of guard rwlock-percache

	_ [64]byte // and refreshes off the lock

	refreshMu  sync.Mutex // one refresh at a time; held while resolving
	activateMu sync.Mutex // one Activate or Deactivate at a time; taken before refreshMu

	_ [64]byte
}

// GPA returns the guest physical address the cache stands for, and whether it
// is active.
func (c *Cache) GPA() (gpa uint64, active bool) {
	if p := c.place.Load(); p != nil {
		return p.gpa, true
	}
	return 0, false
}

// Activate makes the cache stand for [gpa, gpa+n), 1 <= n <= 4096, within one
// page. An active cache moves: when Activate returns, nobody uses the old place
// any more. If it fails, nothing has changed: the error wraps ErrNoMemory if
// there is no memory at gpa, or ErrBusy. If the memory goes away after it was
// found, the cache is active and stale, and Activate succeeds.
func (c *Cache) Activate(gpa, n uint64) error {
	if n == 0 || n > pageSize || gpa%pageSize+n > pageSize {
		return fmt.Errorf("gpc: activate %s: range [%#x, +%#x) is empty or crosses a page: keep it within one page of %d bytes", c.name, gpa, n, pageSize)
	}
	c.activateMu.Lock()
	defer c.activateMu.Unlock()

	next := &place{gpa, n}
	old := c.place.Load()
	if old == nil || *old != *next {
		if err := c.set.probe(*next); err != nil {
			return fmt.Errorf("gpc: activate %s at %#x: %w", c.name, gpa, err)
		}
		// The cache is on the list at the new place before it can map it, and
		// stays on it at the old place until no reader uses that.
		c.set.list(c, *next)
		c.moveTo(old, next)
	}
	// The move is done; a failure from here on is that of an active cache whose
	// memory is away, which Refresh reports to those who need it.
	_ = c.Refresh()
	return nil
}

// Deactivate makes the cache inactive. When it returns, nobody uses the memory
// through it.
func (c *Cache) Deactivate() {
	c.activateMu.Lock()
	defer c.activateMu.Unlock()
	if old := c.place.Load(); old != nil {
		c.moveTo(old, nil)
	}
}

// moveTo changes the place and takes the mapping of the old one out of use. The
// place changes first: a refresh that claims the mapping after it was withdrawn
// sees the new place, and one that claimed it before loses its claim.
func (c *Cache) moveTo(old, next *place) {
	c.place.Store(next)
	c.m.Store(c.set.invalid)
	if old == nil {
		return
	}
	hit := index{{old.gpa, old.n, c}}
	c.set.guard.drain(hit, true)
	if c.evict != nil {
		c.evict(true)
	}
	c.set.unlist(c, *old)
	c.set.resolver.MarkDirty(old.gpa, old.n)
}
