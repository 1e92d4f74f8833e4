// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestBlockedRefreshesShareOneResolution(t *testing.T) {
	m := newGuestMemory(t, 1)
	s, r := newTestSet(t, m, "srcu")
	c := activated(t, s, "c", 1*pageSize, pageSize)
	must(s.InvalidateStart(1*pageSize, pageSize, true))
	before := m.resolves.Load()
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { refreshed(c) })
	}
	until(t, "a refresh waits", func() bool { return s.txns.waiters.Load() == 1 })
	old := m.put(1, newHostPage())
	old.unmap()
	s.InvalidateEnd(1*pageSize, pageSize)
	within(t, 10*time.Second, "refreshes", wg.Wait)
	if n := m.resolves.Load() - before; n != 1 {
		t.Errorf("%d resolutions", n)
	}
	if _, ok := r.Load32(c, 0); !ok {
		t.Error("still stale")
	}
}

// An invalidation that begins after the address was resolved and ends before it
// is published must win.
func TestRefreshNeverPublishesWhatAnInvalidationOvertook(t *testing.T) {
	for _, before := range []bool{true, false} {
		m := newGuestMemory(t, 1)
		s, r := newTestSet(t, m, "srcu")
		c := activated(t, s, "c", 1*pageSize, pageSize)
		m.replace(t, s, 1)
		overtaken := 0
		m.onResolve = func(b bool) {
			if b == before && overtaken < 10 {
				overtaken++
				m.replace(t, s, 1)
				m.page(1).word(0).Store(uint32(overtaken))
			}
		}
		refreshed(c)
		// A mapping that was published too early would be of an unmapped page,
		// and fault.
		if v, ok := r.Load32(c, 0); !ok || v != 10 {
			t.Errorf("read %d %v", v, ok)
		}
	}
}

// The Resolver may find nothing in the middle of a change. That is no reason to
// report missing memory.
func TestAnErrorFromTheMiddleOfAChangeIsNotBelieved(t *testing.T) {
	m := newGuestMemory(t, 1)
	s, r := newTestSet(t, m, "srcu")
	c := s.NewCache("c")
	changed := false
	for range 2 { // the probe of Activate, then Refresh
		changed = false
		m.onResolve = func(before bool) {
			if changed {
				return
			}
			if before {
				must(s.InvalidateStart(1*pageSize, pageSize, true))
				m.put(1, nil).unmap()
			} else {
				m.put(1, newHostPage())
				s.InvalidateEnd(1*pageSize, pageSize)
				changed = true
			}
		}
		if _, active := c.GPA(); !active {
			must(c.Activate(1*pageSize, pageSize))
		} else {
			must(c.Refresh())
		}
		if _, ok := r.Load32(c, 0); !ok || !changed {
			t.Errorf("valid %v, changed %v", ok, changed)
		}
		m.onResolve = nil
		m.replace(t, s, 1)
	}
}

// Known fault: livelock against invalidations in a tight loop.
func TestRefreshReturnsUnderAStormOfInvalidations(t *testing.T) {
	for _, storm := range []struct {
		name   string
		locked bool // the Resolver and the invalidator share a lock, as memory's do
		brief  bool // nothing happens between start and end
	}{
		{"of changes", false, false}, {"of changes under the resolver's lock", true, false}, {"of empty transactions", false, true},
	} {
		t.Run(storm.name, func(t *testing.T) {
			eachGuard(t, func(t *testing.T, guard string) {
				m := newGuestMemory(t, 1)
				s, r := newTestSet(t, m, guard)
				c := activated(t, s, "c", 1*pageSize, pageSize)
				var big sync.Mutex
				if storm.locked {
					m.onResolve = func(before bool) {
						if before {
							big.Lock()
						} else {
							big.Unlock()
						}
					}
				}
				var stop atomic.Bool
				var wg sync.WaitGroup
				var storms atomic.Int64
				for range 2 {
					wg.Go(func() {
						for !stop.Load() {
							if storm.locked {
								big.Lock()
							}
							must(s.InvalidateStart(1*pageSize, pageSize, true))
							if !storm.brief {
								m.put(1, m.page(1))
							}
							if storm.locked {
								big.Unlock()
							}
							s.InvalidateEnd(1*pageSize, pageSize)
							storms.Add(1)
						}
					})
				}
				worst, end := lag()
				defer end()
				succeeded := 0
				for deadline := time.Now().Add(300 * time.Millisecond); time.Now().Before(deadline); {
					start := time.Now()
					err := c.Refresh()
					if d := time.Since(start); d > time.Second+2*worst() {
						t.Errorf("a refresh took %v, with the machine lagging by %v at most", d, worst())
						break
					}
					if err == nil {
						succeeded++
					} else if !errors.Is(err, ErrBusy) {
						t.Error(err)
					}
					r.Load32(c, 0)
					runtime.Gosched()
				}
				stop.Store(true)
				wg.Wait()
				t.Logf("%d refreshes succeeded against %d invalidations", succeeded, storms.Load())
				if succeeded == 0 {
					t.Error("no refresh succeeded")
				}
				within(t, 10*time.Second, "Refresh after the storm", func() { refreshed(c) })
			})
		})
	}
}

// Known fault: a mapping that invalidates itself each time it is resolved.
func TestRefreshThatInvalidatesItselfEnds(t *testing.T) {
	m := newGuestMemory(t, 1)
	s, r := newTestSet(t, m, "srcu")
	c := activated(t, s, "c", 1*pageSize, pageSize)
	m.replace(t, s, 1)
	m.onResolve = func(before bool) {
		if !before {
			must(s.InvalidateStart(1*pageSize, pageSize, true))
			s.InvalidateEnd(1*pageSize, pageSize)
		}
	}
	start := time.Now()
	if err := c.Refresh(); !errors.Is(err, ErrBusy) {
		t.Errorf("refresh: %v", err)
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("took %v", d)
	}
	if _, ok := r.Load32(c, 0); ok {
		t.Error("valid")
	}
	m.onResolve = nil
	must(c.Refresh())
}

// Transactions elsewhere, without a moment of quiet between them, neither delay
// a refresh nor keep hooks from running.
func TestInvalidationsElsewhereDelayNobody(t *testing.T) {
	m := newGuestMemory(t, 1)
	s, r := newTestSet(t, m, "srcu")
	c := activated(t, s, "c", 1*pageSize, pageSize)
	restored := 0
	s.OnRestore(func() { restored++ })
	must(s.InvalidateStart(5*pageSize, pageSize, true))
	for range 100 {
		must(s.InvalidateStart(1*pageSize, pageSize, true))
		s.InvalidateEnd(1*pageSize, pageSize)
		if n := s.txns.waiters.Load(); n != 0 {
			t.Fatal("someone waits")
		}
		if err := c.Refresh(); err != nil {
			t.Fatal(err)
		}
		if _, ok := r.Load32(c, 0); !ok {
			t.Fatal("stale")
		}
	}
	until(t, "the hooks run though there is always a transaction", func() bool {
		must(s.InvalidateStart(6*pageSize, pageSize, true))
		s.InvalidateEnd(6*pageSize, pageSize)
		return restored > 0
	})
	s.InvalidateEnd(5*pageSize, pageSize)
}

func TestARefreshDuringATransactionThatDoesNotEndGivesUp(t *testing.T) {
	m := newGuestMemory(t, 1)
	s, _ := newTestSet(t, m, "srcu")
	c := activated(t, s, "c", 1*pageSize, pageSize)
	must(s.InvalidateStart(1*pageSize, pageSize, true))
	within(t, 5*time.Second, "Refresh", func() {
		if err := c.Refresh(); !errors.Is(err, ErrBusy) {
			t.Error(err)
		}
	})
	s.InvalidateEnd(1*pageSize, pageSize)
	must(c.Refresh())
}

// The gate delays an end, and never for long.
func TestTheGateHoldsInvalidatorsBackForABoundedTime(t *testing.T) {
	m := newGuestMemory(t, 1)
	s, _ := newTestSet(t, m, "srcu")
	s.gate.close()
	must(s.InvalidateStart(1*pageSize, 1, true))
	start := time.Now()
	within(t, 5*time.Second, "InvalidateEnd", func() { s.InvalidateEnd(1*pageSize, 1) })
	if d := time.Since(start); d < holdOff {
		t.Errorf("held back for %v only", d)
	}
	must(s.InvalidateStart(1*pageSize, 1, true))
	held := background(func() { s.InvalidateEnd(1*pageSize, 1) })
	s.gate.open()
	within(t, 5*time.Second, "InvalidateEnd", func() { <-held })
}

// Events whose frame is away are latched by the caller and replayed when it is
// back: none is lost.
func TestARefreshThatFailsIsFollowedByARestore(t *testing.T) {
	eachGuard(t, func(t *testing.T, guard string) {
		m := newGuestMemory(t, 1)
		s, r := newTestSet(t, m, guard)
		c := activated(t, s, "shared_info", 1*pageSize, pageSize)
		sig := portSignal(c, c, 9)
		latched := false
		var replayed Result
		s.OnRestore(func() {
			if latched && c.Refresh() == nil {
				latched = false
				replayed = r.Deliver(sig)
			}
		})
		must(s.InvalidateStart(1*pageSize, pageSize, true))
		m.put(1, nil).unmap()
		s.InvalidateEnd(1*pageSize, pageSize)
		if got := r.Deliver(sig); got != Stale {
			t.Fatal(got)
		}
		if err := c.Refresh(); !errors.Is(err, ErrNoMemory) {
			t.Fatal(err)
		}
		latched = true
		must(s.InvalidateStart(1*pageSize, pageSize, true))
		m.put(1, newHostPage())
		s.InvalidateEnd(1*pageSize, pageSize)
		if latched || replayed != Raised {
			t.Fatalf("latched %v, replayed %v", latched, replayed)
		}
		if st := s.Stats(); st.RefreshFailures == 0 || st.Refreshes < 2 {
			t.Errorf("%+v", st)
		}
	})
}

// Every pending bit that Deliver sets is taken by the guest exactly once, while
// the pages it lies in move.
func TestEventsAreConservedWhilePagesMove(t *testing.T) {
	const ports = 64
	eachGuard(t, func(t *testing.T, guard string) {
		m := newGuestMemory(t, 1, 2)
		s, _ := newTestSet(t, m, guard)
		shared := activated(t, s, "shared_info", 1*pageSize, pageSize)
		vcpu := activated(t, s, "vcpu_info", 2*pageSize, 64)
		retry := func(op func() bool) {
			for !op() {
				for _, c := range []*Cache{shared, vcpu} {
					if err := c.Refresh(); err != nil && !errors.Is(err, ErrBusy) {
						t.Error(err)
						return
					}
				}
			}
		}
		var sent, taken, upcalls, raised atomic.Int64
		var producers, others sync.WaitGroup
		var stop atomic.Bool
		for i := range 2 {
			producers.Go(func() {
				r := s.NewReader()
				defer r.Close()
				for n := 0; n < 20000 || s.counters.invalidations.Load() < 100; n++ {
					if n%64 == 0 {
						runtime.Gosched() // the others must have their turn on one processor, too
					}
					sig := portSignal(shared, vcpu, uint32(n*7+i)%ports)
					owed := false
					retry(func() bool {
						res := StaleVCPU
						if owed {
							res = r.Raise(sig)
						} else if res = r.Deliver(sig); res != Stale && res != Coalesced {
							sent.Add(1)
						}
						if res == Raised {
							raised.Add(1)
						}
						owed = res == StaleVCPU
						return res != Stale && res != StaleVCPU
					})
				}
			})
		}
		take := func(r *Reader) {
			retry(func() bool {
				old, ok := r.Xchg8(vcpu, 0, 0)
				if ok && old != 0 {
					upcalls.Add(1)
				}
				return ok
			})
			retry(func() bool { _, ok := r.Xchg32(vcpu, 8, 0); return ok })
			for w := range uint32(ports / 32) {
				retry(func() bool {
					old, ok := r.Xchg32(shared, 0x800+4*w, 0)
					for ; ok && old != 0; old &= old - 1 {
						taken.Add(1)
					}
					return ok
				})
			}
		}
		others.Go(func() { // the guest
			r := s.NewReader()
			defer r.Close()
			for !stop.Load() {
				take(r)
			}
			take(r)
		})
		others.Go(func() { // memory
			for gfn := uint64(1); !stop.Load(); gfn = 3 - gfn {
				must(s.InvalidateStart(gfn*pageSize, pageSize, true))
				next := newHostPage()
				old := m.put(gfn, next)
				copy(next.bytes, old.bytes)
				old.unmap()
				s.InvalidateEnd(gfn*pageSize, pageSize)
			}
		})
		within(t, 60*time.Second, "producers", producers.Wait)
		stop.Store(true)
		within(t, 10*time.Second, "guest and memory", others.Wait)
		if sent.Load() != taken.Load() || raised.Load() != upcalls.Load() {
			t.Errorf("sent %d, taken %d; raised %d, upcalls %d", sent.Load(), taken.Load(), raised.Load(), upcalls.Load())
		}
		st := s.Stats()
		t.Logf("%d events, %d invalidations, %d refreshes", sent.Load(), st.Invalidations, st.Refreshes)
	})
}
