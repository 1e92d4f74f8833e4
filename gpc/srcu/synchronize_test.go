// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"bytes"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestSynchronizeWithoutReadersInsideIsFast(t *testing.T) {
	d := New(Options{})
	r := d.NewReader()
	defer r.Close()
	r.Enter()
	r.Exit()
	if st := d.Synchronize(); !st.Fast || st.Spun != 0 || st.Waited != 0 {
		t.Fatalf("%+v", st)
	}
}

func TestSynchronizeWaitsForTheSectionsThatRunAndForNoOther(t *testing.T) {
	d := New(Options{SpinNs: -1})
	d.backstop = 0
	old, late := d.NewReader(), d.NewReader()
	defer old.Close()
	defer late.Close()
	old.Enter()
	var st Stats
	done := background(func() { st = d.Synchronize() })
	until(t, "the updater sleeps", sleeper(old))
	late.Enter()
	if !open(done) {
		t.Fatal("returned while the old section runs")
	}
	old.Exit()
	ends(t, "the grace period, delayed by a section entered after it began,", done)
	if st.Fast || st.Waited == 0 {
		t.Fatalf("%+v", st)
	}
	late.Exit()
}

// countedWait counts the updaters inside another policy.
type countedWait struct {
	waitPolicy
	inside *atomic.Int64
}

func (c countedWait) await(d *Domain, p *pending) bool {
	c.inside.Add(1)
	aborted := c.waitPolicy.await(d, p)
	c.inside.Add(-1)
	return aborted
}

func TestUpdatersWaitSideBySide(t *testing.T) {
	const updaters = 8
	d := New(Options{SpinNs: -1})
	d.backstop = 0
	var waiting atomic.Int64
	d.policy = countedWait{d.policy, &waiting}
	r := d.NewReader()
	defer r.Close()
	for range 20 {
		r.Enter()
		var done [updaters]<-chan struct{}
		for i := range done {
			done[i] = background(func() { d.Synchronize() })
		}
		until(t, "all updaters wait at once", func() bool { return waiting.Load() == updaters })
		r.Exit()
		for _, done := range done {
			ends(t, "an updater", done)
		}
		if st := d.Synchronize(); !st.Fast {
			t.Fatalf("slow grace periods left something behind: %+v", st)
		}
	}
}

func TestSpinSynchronizeGivesUpInTime(t *testing.T) {
	d := New(Options{})
	r := d.NewReader()
	defer r.Close()
	r.Enter()
	for range 100 {
		if _, done := d.SpinSynchronize(10 * time.Microsecond); done {
			t.Fatal("a section is running")
		}
	}
	r.Exit()
	if _, done := d.SpinSynchronize(0); !done {
		t.Fatal("no section is running")
	}
}

// With the backstop off, an updater whose wake-up got lost sleeps for ever.
func TestNoWakeUpIsLost(t *testing.T) {
	const readers, updaters, rounds = 3, 3, 3000
	d := New(Options{SpinNs: -1})
	d.backstop = 0
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range readers {
		wg.Go(func() {
			r := d.NewReader()
			defer r.Close()
			for n := 0; !stop.Load(); n++ {
				r.Enter()
				for range (n*7 + i) % 50 {
					pause()
				}
				if n%64 == 0 {
					runtime.Gosched() // let an updater find the section open
				}
				r.Exit()
			}
		})
	}
	var slow atomic.Int64
	done := background(func() {
		var wg sync.WaitGroup
		for range updaters {
			wg.Go(func() {
				for range rounds {
					if !d.Synchronize().Fast {
						slow.Add(1)
					}
				}
			})
		}
		wg.Wait()
	})
	ends(t, "updaters", done)
	stop.Store(true)
	wg.Wait()
	if slow.Load() == 0 {
		t.Fatal("every grace period took the fast path; nothing was tested")
	}
	t.Logf("%d of %d grace periods were slow", slow.Load(), updaters*rounds)
}

// A reader that Go preempts inside its section, an updater waiting for it and a
// collector that wants to stop the world: if the updater could not be stopped
// too, the three would wait for each other for ever.
func TestPreemptibleSectionUpdaterAndCollectorMakeProgress(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	for _, spin := range []int{-1, 0, int(time.Millisecond)} {
		d := New(Options{SpinNs: spin})
		var stop atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			r := d.NewReader()
			defer r.Close()
			for x := 0; !stop.Load(); {
				r.Enter()
				for i := range 2000 {
					x += i
				}
				r.Exit()
			}
		})
		var drains atomic.Int64
		wg.Go(func() {
			for !stop.Load() {
				d.Synchronize()
				drains.Add(1)
			}
		})
		collector := background(func() {
			for range 50 {
				runtime.GC()
			}
		})
		ends(t, "the collector", collector)
		before := drains.Load()
		until(t, "the updater gets on", func() bool { return drains.Load() > before+10 })
		stop.Store(true)
		wg.Wait()
	}
}

func TestTheWatchdogNamesTheOwnerOfAStuckSectionOnce(t *testing.T) {
	var buf bytes.Buffer
	d := New(Options{SpinNs: -1, Log: slog.New(slog.NewTextHandler(&buf, nil))})
	d.backstop, d.overdue = time.Millisecond, 3*time.Millisecond
	r := d.NewReader()
	defer r.Close()
	for range 2 {
		r.Enter()
		a, b := background(func() { d.Synchronize() }), background(func() { d.Synchronize() })
		reported := &r.place.chunk.reported[r.place.index]
		until(t, "the section is reported", func() bool { return reported.Load() == r.slot.seq.Load() })
		r.Exit()
		ends(t, "first updater", a)
		ends(t, "second updater", b)
	}
	if n := strings.Count(buf.String(), "synchronize_test.go:"); n != 2 {
		t.Fatalf("%d reports that name the owner for 2 stuck sections:\n%s", n, buf.String())
	}
}

func TestReadersComeAndGoWhileUpdatersWait(t *testing.T) {
	d := New(Options{})
	var published atomic.Pointer[atomic.Int64]
	var sections atomic.Int64
	published.Store(new(atomic.Int64))
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				r := d.NewReader()
				for range 8 {
					r.Enter()
					if p := published.Load(); p.Load() != 0 {
						t.Error("a reader saw an object after its grace period")
						stop.Store(true)
					}
					r.Exit()
					sections.Add(1)
				}
				r.Close()
			}
		})
	}
	for n := 0; n < 3000 || sections.Load() < 100_000; n++ {
		old := published.Swap(new(atomic.Int64))
		d.Synchronize()
		old.Store(1)
	}
	stop.Store(true)
	wg.Wait()
}
