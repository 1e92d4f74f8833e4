// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"errors"
	"fmt"
)

// Refresh makes a stale cache valid: it waits for invalidations in progress to
// end, resolves the address and publishes the mapping. It is the slow path of
// readers and blocks; callers that find each other here share one resolution.
// On a valid cache it costs one load.
//
// It fails with ErrInactive, an error that wraps ErrNoMemory, or ErrBusy, and
// returns after a bounded number of tries, in less than a second of waiting, even
// under a storm of invalidations or during one that does not end.
// The cache may be stale again by the time it returns.
func (c *Cache) Refresh() error {
	if c.m.Load().valid() {
		return nil
	}
	c.refreshMu.Lock()
	defer c.refreshMu.Unlock()
	if c.m.Load().valid() {
		return nil // whoever held the mutex before has done it
	}
	err := c.refresh()
	switch err {
	case nil:
		c.set.counters.refreshes.Add(1)
	case ErrInactive:
	default:
		c.set.counters.refreshFailures.Add(1)
		err = fmt.Errorf("gpc: refresh %s: %w", c.name, err)
	}
	return err
}

// Away reports whether err, from a Refresh, says that there is no memory or that
// it kept changing. It may come back, and a restore hook tells when: whoever has
// noted before the Refresh that something is to be done sees the hook run after
// the Refresh has failed.
func Away(err error) bool { return errors.Is(err, ErrNoMemory) || errors.Is(err, ErrBusy) }

// refresh runs under refreshMu. Each try puts a claim in the place of the
// mapping, and publishes by exchanging the claim for the new mapping. Whoever
// withdraws the mapping (an invalidation, a move) overwrites the claim as well,
// and with that the right to publish. A transaction that began before the claim
// may have gone past the cache already, so none that concerns it may be in
// progress once the claim stands.
func (c *Cache) refresh() error {
	s := c.set
	pt := patience{set: s}
	defer pt.end()
	claim := new(mapping)
	for {
		at := c.place.Load()
		if at == nil {
			return ErrInactive
		}
		if !pt.next(*at) {
			return ErrBusy
		}
		c.m.Store(claim)
		if at = c.place.Load(); at == nil {
			continue // a claim that stays behind is as good as the invalid mapping
		}
		if s.txns.cover(*at) {
			continue
		}
		hva, err := s.resolver.Resolve(at.gpa, at.n)
		if err != nil {
			// An answer from the middle of a change of memory says nothing.
			if c.m.CompareAndSwap(claim, s.invalid) {
				return fmt.Errorf("%w: %w", ErrNoMemory, err)
			}
			continue
		}
		if c.m.CompareAndSwap(claim, &mapping{hva: hva, n: at.n, gpa: at.gpa}) {
			return nil
		}
	}
}

// probe reports whether there is memory at p, by refreshing a cache that nobody
// reads.
func (s *Set) probe(p place) error {
	c := &Cache{set: s}
	c.m.Store(s.invalid)
	c.place.Store(&p)
	s.list(c, p)
	defer s.unlist(c, p)
	return c.refresh()
}
