// SPDX-License-Identifier: Apache-2.0

package gpc

import "time"

// InvalidateStart opens a transaction that changes what is behind the guest
// range [gpa, gpa+n). Every overlapping cache becomes stale, and when it returns
// no reader holds a mapping of the range any more: only then may the caller
// unmap. No cache becomes valid before InvalidateEnd. Transactions may nest and
// overlap in time.
//
// The caller must not hold anything that a section or an evict function needs;
// it may hold what Resolve needs.
//
// With mayBlock false the call does not sleep. If a reader is still inside after
// a short spin it returns ErrWouldBlock: the caches stay stale until they are
// refreshed, the range must not be unmapped, and there is no transaction to end.
func (s *Set) InvalidateStart(gpa, n uint64, mayBlock bool) error {
	// The transaction is visible before the list is read: a cache that is not on
	// the list yet will see the transaction.
	s.txns.begin(gpa, n)
	s.counters.invalidations.Add(1)
	hit := s.index.Load().touching(gpa, n)
	if len(hit) == 0 {
		return nil
	}
	start := time.Now()
	overlaps := false
	for i := range hit {
		if hit[i].reaches(gpa) {
			// An exchange, so it is visible before drain looks at any reader.
			hit[i].cache.m.Store(s.invalid)
			overlaps = true
		}
	}
	if !overlaps {
		return nil
	}
	st, done := s.guard.drain(hit, mayBlock)
	done = done && evict(hit, gpa, mayBlock)
	s.drains.add(time.Since(start))
	if !done {
		s.counters.wouldBlock.Add(1)
		if s.txns.end(gpa, n) && s.restoreOwed.Swap(0) != 0 {
			go s.restore() // another transaction left its hooks to us, who may not block
		}
		return ErrWouldBlock
	}
	s.counters.drained(&st)
	s.markWithdrawn(hit, gpa)
	return nil
}

// evict makes the vCPUs leave guest mode that use a withdrawn mapping there.
func evict(hit index, gpa uint64, mayBlock bool) bool {
	for i := range hit {
		if e := &hit[i]; e.cache.evict != nil && e.reaches(gpa) && !e.cache.evict(mayBlock) {
			return false
		}
	}
	return true
}

// markWithdrawn marks dirty what readers may have written since they last did
// so themselves: a writer marks after its section, and only if the mapping is
// still there.
func (s *Set) markWithdrawn(hit index, gpa uint64) {
	for i := range hit {
		if e := &hit[i]; e.reaches(gpa) {
			s.resolver.MarkDirty(e.gpa, e.n)
		}
	}
}

// InvalidateEnd closes the transaction that the InvalidateStart with the same
// range opened, and blocked refreshes go on. When no transaction is left in
// progress (or, should there always be one, every millisecond or so) the restore
// hooks run, in this goroutine. They are not run after each of several nested
// transactions because they refresh, which an open one may block.
//
// The caller holds no lock that Resolve or a hook needs. If a refresh has been
// overtaken repeatedly, the call waits for it, for a millisecond at most.
func (s *Set) InvalidateEnd(gpa, n uint64) {
	now := int64(time.Since(s.born)) | 1
	// Noted before the transaction ends: whoever ends the last one sees it.
	s.restoreOwed.CompareAndSwap(0, now)
	if s.txns.end(gpa, n) || now-s.restoreOwed.Load() > int64(holdOff) {
		if s.restoreOwed.Swap(0) != 0 {
			s.restore()
		}
	}
	s.gate.pass()
}

func (s *Set) restore() {
	for _, f := range *s.hooks.Load() {
		f()
	}
}
