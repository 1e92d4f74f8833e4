// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"math"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

func TestInvalidateStartReturnsOnlyWhenNoReaderCanHoldTheOldPointer(t *testing.T) {
	eachGuard(t, func(t *testing.T, guard string) {
		m := newGuestMemory(t, 1)
		s, r := newTestSet(t, m, guard)
		c := activated(t, s, "c", 1*pageSize, pageSize)
		leave := inside(s, c)
		done := background(func() { must(s.InvalidateStart(1*pageSize, 1, true)) })
		until(t, "the cache is stale", func() bool { return !c.m.Load().valid() })
		for range 1000 { // give it every chance to return too early
			runtime.Gosched()
		}
		if !running(done) {
			t.Fatal("returned while a reader is inside")
		}
		leave()
		within(t, 10*time.Second, "InvalidateStart", func() { <-done })
		if _, ok := r.Load32(c, 0); ok {
			t.Fatal("the cache is valid during a transaction")
		}
		s.InvalidateEnd(1*pageSize, 1)
		if st := s.Stats(); st.SlowPath != 1 || st.FastPath != 0 || st.Drain.Count != 1 || st.Drain.Max == 0 {
			t.Errorf("%+v", st)
		}
	})
}

func TestInvalidateStartThatMayNotBlockGivesUp(t *testing.T) {
	eachGuard(t, func(t *testing.T, guard string) {
		m := newGuestMemory(t, 1)
		s, r := newTestSet(t, m, guard)
		c := activated(t, s, "c", 1*pageSize, pageSize)
		leave := inside(s, c)
		within(t, 5*time.Second, "InvalidateStart", func() {
			if err := s.InvalidateStart(1*pageSize, 1, false); err != ErrWouldBlock {
				t.Errorf("with a reader inside: %v", err)
			}
		})
		if c.m.Load().valid() {
			t.Error("the cache is still valid")
		}
		leave()
		// There is no transaction to end: a refresh goes through at once.
		within(t, 5*time.Second, "Refresh", func() { must(c.Refresh()) })
		if err := s.InvalidateStart(1*pageSize, 1, false); err != nil {
			t.Errorf("without a reader inside: %v", err)
		}
		if _, ok := r.Load32(c, 0); ok {
			t.Error("valid during a transaction")
		}
		s.InvalidateEnd(1*pageSize, 1)
		if st := s.Stats(); st.WouldBlock != 1 || st.FastPath+st.SlowPath != 1 || st.Invalidations != 2 {
			t.Errorf("%+v", st)
		}
	})
}

func TestExactlyTheOverlappingCachesBecomeStale(t *testing.T) {
	type rng struct{ gpa, n uint64 }
	caches := []rng{
		{1 * pageSize, pageSize},
		{2*pageSize + 64, 64},
		{2*pageSize + 128, 64},
		{2*pageSize + 128, 64}, // two caches of one place
		{7*pageSize + 0xfff, 1},
		{math.MaxUint64 - 7, 8},
	}
	for _, tt := range []struct {
		name   string
		gpa, n uint64
		stale  []int
	}{
		{"nothing", 1 * pageSize, 0, nil},
		{"before all", 0, pageSize, nil},
		{"one byte", pageSize + 5, 1, []int{0}},
		{"last byte of a page", 2*pageSize - 1, 1, []int{0}},
		{"the page around small caches", 2 * pageSize, pageSize, []int{1, 2, 3}},
		{"between caches of a page", 2 * pageSize, 64, nil},
		{"within one of a page", 2*pageSize + 127, 1, []int{1}},
		{"the end of a page", 2*pageSize + 192, pageSize - 192, nil},
		{"two pages", pageSize + 100, pageSize, []int{0, 1}},
		{"a hole", 3 * pageSize, 4 * pageSize, nil},
		{"a single byte cache", 7 * pageSize, pageSize, []int{4}},
		{"everything", 0, math.MaxUint64, []int{0, 1, 2, 3, 4, 5}},
		{"beyond the end of the address space", 7 * pageSize, math.MaxUint64, []int{4, 5}},
		{"the last byte of the address space", math.MaxUint64, 1, []int{5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newGuestMemory(t, 1, 2, 7, math.MaxUint64/pageSize)
			s, r := newTestSet(t, m, "srcu")
			all := make([]*Cache, len(caches))
			for i, c := range caches {
				all[i] = activated(t, s, "c", c.gpa, c.n)
			}
			must(s.InvalidateStart(tt.gpa, tt.n, true))
			want := map[int]bool{}
			for _, i := range tt.stale {
				want[i] = true
			}
			for i, c := range all {
				if r.ReadAt(c, make([]byte, 1), 0) == want[i] {
					t.Errorf("cache %d [%#x, +%#x): stale %v, want %v", i, caches[i].gpa, caches[i].n, !want[i], want[i])
				}
			}
			s.InvalidateEnd(tt.gpa, tt.n)
			for i, c := range all {
				if err := c.Refresh(); err != nil || !r.ReadAt(c, make([]byte, 1), 0) {
					t.Errorf("cache %d is not valid again: %v", i, err)
				}
			}
		})
	}
}

func TestNestedTransactionsAllHaveToEnd(t *testing.T) {
	m := newGuestMemory(t, 1, 2)
	s, r := newTestSet(t, m, "srcu")
	c := activated(t, s, "c", 1*pageSize, pageSize)
	// Hooks may run early, should this thread be held up for longer than the
	// holdOff; the last End runs them in any case, with nothing open.
	var last error
	hooks := 0
	s.OnRestore(func() {
		hooks++
		last = c.Refresh() // ErrBusy while a transaction is open
	})
	must(s.InvalidateStart(1*pageSize, 1, true))
	must(s.InvalidateStart(2*pageSize, 1, true))
	must(s.InvalidateStart(1*pageSize, 1, true))
	done := background(func() { refreshed(c) })
	until(t, "the refresh waits", func() bool { return s.txns.waiters.Load() == 1 })
	s.InvalidateEnd(1*pageSize, 1)
	s.InvalidateEnd(2*pageSize, 1)
	if !running(done) {
		t.Fatal("refreshed while a transaction is open")
	}
	s.InvalidateEnd(1*pageSize, 1)
	within(t, 10*time.Second, "Refresh", func() { <-done })
	if _, ok := r.Load32(c, 0); !ok || hooks == 0 || last != nil {
		t.Fatalf("valid %v, hooks ran %d times, the last found %v", ok, hooks, last)
	}
}

// A transaction that ends while a non-blocking one is being refused is not the
// last one, but nobody else will run its hooks.
func TestARefusedTransactionRunsTheHooksLeftToIt(t *testing.T) {
	m := newGuestMemory(t, 1)
	s, _ := newTestSet(t, m, "srcu")
	other := make(chan struct{})
	c := s.NewGuestCache("c", func(mayBlock bool) bool {
		if !mayBlock { // the other transaction ends in the midst of this one
			s.InvalidateEnd(9*pageSize, 1)
			close(other)
		}
		return mayBlock
	})
	must(c.Activate(1*pageSize, pageSize))
	ran := make(chan struct{})
	s.OnRestore(func() { close(ran) })
	must(s.InvalidateStart(9*pageSize, 1, true))
	if err := s.InvalidateStart(1*pageSize, 1, false); err != ErrWouldBlock {
		t.Fatal(err)
	}
	<-other
	within(t, 10*time.Second, "restore hook", func() { <-ran })
}

func TestEndWithoutStartPanics(t *testing.T) {
	s, _ := newTestSet(t, newGuestMemory(t), "srcu")
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	s.InvalidateEnd(0, 1)
}

func TestAGuestModeCacheMakesItsVCPULeaveBeforeTheUnmap(t *testing.T) {
	m := newGuestMemory(t, 1, 2, 3)
	s, _ := newTestSet(t, m, "srcu")
	var evictions atomic.Int64
	willing := false
	var c *Cache
	c = s.NewGuestCache("pvclock", func(mayBlock bool) bool {
		if c.m.Load().valid() {
			t.Error("the vCPU is kicked before the mapping is withdrawn: it could pick it up again")
		}
		evictions.Add(1)
		return mayBlock || willing
	})
	step := func(what string, want int64, f func()) {
		t.Helper()
		evictions.Store(0)
		f()
		if got := evictions.Load(); got != want {
			t.Errorf("%s: %d evictions, want %d", what, got, want)
		}
	}
	step("first activation", 0, func() { must(c.Activate(1*pageSize, 64)) })
	step("invalidation elsewhere", 0, func() { must(s.InvalidateStart(2*pageSize, 1, true)); s.InvalidateEnd(2*pageSize, 1) })
	step("invalidation", 1, func() { must(s.InvalidateStart(1*pageSize, 1, true)); s.InvalidateEnd(1*pageSize, 1) })
	step("invalidation that may not wait", 1, func() {
		if err := s.InvalidateStart(1*pageSize, 1, false); err != ErrWouldBlock {
			t.Error(err)
		}
	})
	willing = true
	step("invalidation that need not wait", 1, func() { must(s.InvalidateStart(1*pageSize, 1, false)); s.InvalidateEnd(1*pageSize, 1) })
	step("move", 1, func() { must(c.Activate(3*pageSize, 64)) })
	step("deactivation", 1, func() { c.Deactivate() })
	step("invalidation while inactive", 0, func() { must(s.InvalidateStart(3*pageSize, 1, true)); s.InvalidateEnd(3*pageSize, 1) })
}
