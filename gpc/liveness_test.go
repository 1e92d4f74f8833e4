// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Readers that Go may preempt in a section or not, updaters that wait for them,
// and a collector that wants to stop the world: if an updater could not be
// stopped while it waits, the three would wait for each other for ever.
func TestReadersUpdatersAndCollectorGetOn(t *testing.T) {
	eachGuard(t, func(t *testing.T, guard string) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
		m := newGuestMemory(t, 1)
		s, _ := newTestSet(t, m, guard)
		c := activated(t, s, "c", 1*pageSize, pageSize)
		var stop atomic.Bool
		var wg sync.WaitGroup
		spawn(&wg, 1, func(int) { // preemptible between the two
			for x := 0; !stop.Load(); {
				leave := inside(s, c)
				for i := range 2000 {
					x += i
				}
				leave()
			}
		})
		spawn(&wg, 1, func(int) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			r := s.NewThreadReader()
			defer r.Close()
			for !stop.Load() {
				if _, ok := r.Or32(c, 0, 1); !ok {
					_ = c.Refresh()
				}
			}
		})
		var drains atomic.Int64
		spawn(&wg, 2, func(int) {
			for !stop.Load() {
				must(s.InvalidateStart(1*pageSize, pageSize, true))
				s.InvalidateEnd(1*pageSize, pageSize)
				drains.Add(1)
			}
		})
		within(t, time.Minute, "30 collections", func() {
			for range 30 {
				runtime.GC()
			}
		})
		before := drains.Load()
		until(t, "updaters get on", func() bool { return drains.Load() > before+10 })
		stop.Store(true)
		wg.Wait()
	})
}

// A reader that found its cache stale waits in Refresh for the transaction to
// end. It is in no section: other transactions, on the same page too, go through
// meanwhile.
func TestAReaderParkedInRefreshDelaysNoUpdater(t *testing.T) {
	eachGuard(t, func(t *testing.T, guard string) {
		m := newGuestMemory(t, 1)
		s, r := newTestSet(t, m, guard)
		c := activated(t, s, "c", 1*pageSize, pageSize)
		must(s.InvalidateStart(1*pageSize, pageSize, true))
		if _, ok := r.Load32(c, 0); ok {
			t.Fatal("not stale")
		}
		parked := background(func() { refreshed(c) })
		until(t, "the reader waits", func() bool { return s.txns.waiters.Load() == 1 })
		for range 100 {
			within(t, 10*time.Second, "another transaction", func() {
				must(s.InvalidateStart(1*pageSize, pageSize, true))
				s.InvalidateEnd(1*pageSize, pageSize)
			})
		}
		if !running(parked) {
			t.Fatal("refreshed while a transaction is open")
		}
		s.InvalidateEnd(1*pageSize, pageSize)
		within(t, 10*time.Second, "the reader", func() { <-parked })
		if _, ok := r.Load32(c, 0); !ok {
			t.Fatal("still stale")
		}
	})
}

// A transaction belongs to nobody. If the goroutine that began it is cancelled
// and ends before it has ended the transaction, its caches stay stale, refreshes
// say ErrBusy, the rest of memory is as usual, and anybody may end it.
func TestATransactionOutlivesItsGoroutine(t *testing.T) {
	eachGuard(t, func(t *testing.T, guard string) {
		m := newGuestMemory(t, 1, 2)
		s, r := newTestSet(t, m, guard)
		c := activated(t, s, "c", 1*pageSize, pageSize)
		other := activated(t, s, "other", 2*pageSize, pageSize)
		ctx, cancel := context.WithCancel(t.Context())
		started := make(chan struct{})
		updater := background(func() {
			must(s.InvalidateStart(1*pageSize, pageSize, true))
			close(started)
			<-ctx.Done()
			runtime.Goexit()
		})
		<-started
		cancel()
		within(t, 10*time.Second, "the updater", func() { <-updater })
		if err := c.Refresh(); !errors.Is(err, ErrBusy) {
			t.Errorf("refresh during the transaction: %v", err)
		}
		m.replace(t, s, 2)
		if err := other.Refresh(); err != nil {
			t.Errorf("refresh elsewhere: %v", err)
		}
		s.InvalidateEnd(1*pageSize, pageSize)
		must(c.Refresh())
		if _, ok := r.Load32(c, 0); !ok {
			t.Error("still stale")
		}
	})
}

// The waits of a refresh are bounded, to the nanosecond: the clock here is one
// that only passes while everybody waits.
func TestWaitsAreBounded(t *testing.T) {
	m := newGuestMemory(t, 1)
	synctest.Test(t, func(t *testing.T) {
		s, err := NewSet(m, Options{})
		must(err)
		c := s.NewCache("c")
		must(c.Activate(1*pageSize, pageSize))
		must(s.InvalidateStart(1*pageSize, pageSize, true))
		start := time.Now()
		if err := c.Refresh(); !errors.Is(err, ErrBusy) {
			t.Errorf("refresh during a transaction: %v", err)
		}
		if d := time.Since(start); d <= waitBudget-tryLimit || d > waitBudget+tryLimit {
			t.Errorf("gave up after %v, not %v", d, waitBudget)
		}
		s.InvalidateEnd(1*pageSize, pageSize)

		s.gate.close()
		must(s.InvalidateStart(1*pageSize, pageSize, true))
		start = time.Now()
		s.InvalidateEnd(1*pageSize, pageSize)
		if d := time.Since(start); d != holdOff {
			t.Errorf("the gate held an updater back for %v, not %v", d, holdOff)
		}
		s.gate.open()

		// A reader that waits goes on at the very moment the transaction ends.
		must(s.InvalidateStart(1*pageSize, pageSize, true))
		start = time.Now()
		go func() {
			time.Sleep(3 * time.Millisecond)
			s.InvalidateEnd(1*pageSize, pageSize)
		}()
		must(c.Refresh())
		if d := time.Since(start); d != 3*time.Millisecond {
			t.Errorf("refreshed after %v", d)
		}
	})
}
