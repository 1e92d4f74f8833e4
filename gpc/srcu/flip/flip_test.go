// SPDX-License-Identifier: Apache-2.0

package flip

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A grace period that began inside a section must not end in it, whichever index
// the section was entered under and however often it was flipped since.
func TestAGracePeriodWaitsForSectionsUnderEitherIndex(t *testing.T) {
	for flips := range 4 {
		d := New()
		r := d.NewReader()
		for range flips {
			d.Synchronize()
		}
		r.Enter()
		for range 3 {
			if d.SpinSynchronize(20 * time.Microsecond) {
				t.Fatalf("after %d flips: ended while the section runs", flips)
			}
		}
		var ended atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			d.Synchronize()
			ended.Store(true)
		}()
		for range 100 {
			runtime.Gosched()
		}
		if ended.Load() {
			t.Fatalf("after %d flips: Synchronize ended while the section runs", flips)
		}
		r.Exit()
		<-done
		r.Close()
		r.Close() // harmless
	}
}

func TestAClosedReaderLeavesItsCountsToTheNext(t *testing.T) {
	d := New()
	for range 10 {
		r := d.NewReader()
		r.Enter()
		r.Exit()
		r.Close()
		d.Synchronize()
	}
	if n := len(*d.all.Load()); n != 1 {
		t.Errorf("%d readers one after another left %d counts", 10, n)
	}
}

// No reader uses an object after the grace period that followed its withdrawal.
func TestReadersComeAndGoWhileUpdatersWait(t *testing.T) {
	d := New()
	var published atomic.Pointer[atomic.Int64]
	published.Store(new(atomic.Int64))
	var sections atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				r := d.NewReader()
				for range 8 {
					r.Enter()
					if published.Load().Load() != 0 {
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
	var updaters sync.WaitGroup
	for range 2 {
		updaters.Go(func() {
			for n := 0; !stop.Load() && (n < 500 || sections.Load() < 50_000); n++ {
				old := published.Swap(new(atomic.Int64))
				d.Synchronize()
				old.Store(1)
			}
		})
	}
	updaters.Wait()
	stop.Store(true)
	wg.Wait()
}
