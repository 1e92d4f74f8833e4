// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// eachWait runs f once per way to wait that works here. What a Domain is asked
// for and does not get is another's test.
func eachWait(t *testing.T, f func(t *testing.T, d *Domain)) {
	for _, w := range []Wait{WaitRseq, WaitFutex, WaitSleep} {
		t.Run(string(w), func(t *testing.T) {
			d := New(Options{Wait: w, SpinNs: -1})
			if d.Mode() != w {
				t.Skipf("%s does not work here; a Domain uses %s", w, d.Mode())
			}
			d.backstop = 0 // a wake-up that gets lost is lost
			f(t, d)
		})
	}
}

// A grace period that had to wait leaves nothing behind that the next one would
// trip over.
func TestSlowGracePeriodsFollowOneAnother(t *testing.T) {
	eachWait(t, func(t *testing.T, d *Domain) {
		var waiting atomic.Int64
		d.policy = countedWait{d.policy, &waiting}
		r := d.NewReader()
		defer r.Close()
		for range 50 {
			r.Enter()
			var st Stats
			done := background(func() { st = d.Synchronize() })
			until(t, "the updater waits", func() bool { return waiting.Load() == 1 })
			for range 10 {
				runtime.Gosched()
			}
			if !open(done) {
				t.Fatal("returned while the section runs")
			}
			r.Exit()
			ends(t, "the grace period", done)
			if st.Fast {
				t.Fatal("the section was not seen")
			}
		}
		if !d.TrySynchronize() {
			t.Fatal("nobody is inside")
		}
	})
}

// Eight updaters at once, against readers that are always inside something, all
// get on: none queues behind another for ever.
func TestEightUpdatersGetOn(t *testing.T) {
	const updaters, periods = 8, 300
	eachWait(t, func(t *testing.T, d *Domain) {
		var stop atomic.Bool
		var readers, all sync.WaitGroup
		for i := range 2 {
			readers.Go(func() {
				r := d.NewReader()
				defer r.Close()
				for n := 0; !stop.Load(); n++ {
					r.Enter()
					if (n+i)%16 == 0 {
						runtime.Gosched() // an updater finds the section open
					}
					r.Exit()
				}
			})
		}
		var slow atomic.Int64
		for range updaters {
			all.Go(func() {
				// Until one had to wait: it may take the readers a while to begin.
				for n := 0; n < periods || slow.Load() == 0; n++ {
					if !d.Synchronize().Fast {
						slow.Add(1)
					}
				}
			})
		}
		ends(t, "eight updaters", background(all.Wait))
		stop.Store(true)
		readers.Wait()
	})
}

// Slots are added while updaters scan: a reader that has begun a section is seen
// by every scan that begins later, whichever chunk its slot is in.
func TestSlotsAreAddedUnderAScan(t *testing.T) {
	const readers = 10 * chunkSlots
	d := New(Options{})
	var stop atomic.Bool
	var scans sync.WaitGroup
	for range 2 {
		scans.Go(func() {
			for !stop.Load() {
				d.TrySynchronize()
				d.SpinSynchronize(0)
			}
		})
	}
	var wg sync.WaitGroup
	var missed atomic.Int64
	for range 4 {
		wg.Go(func() {
			var mine []*Reader
			for range readers / 4 {
				r := d.NewReader()
				mine = append(mine, r)
				r.Enter()
				if d.TrySynchronize() {
					missed.Add(1)
				}
				r.Exit()
			}
			for _, r := range mine {
				r.Close()
			}
		})
	}
	wg.Wait()
	stop.Store(true)
	scans.Wait()
	if missed.Load() != 0 {
		t.Errorf("%d sections were missed by a scan", missed.Load())
	}
	if !d.TrySynchronize() {
		t.Error("nobody is inside")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.free) > readers {
		t.Errorf("%d slots are free, of %d that were in use at once", len(d.free), readers)
	}
}
