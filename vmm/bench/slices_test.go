// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"
)

func TestNobodyPassesABarrierBeforeAllHaveCome(t *testing.T) {
	const n, rounds = 5, 200
	defer tuneRuntime(n + 2)()
	c := newCrew(n)
	defer c.close()
	for _, crowd := range []bool{false, true} {
		b := newBarrier(n, crowd)
		var came atomic.Int64
		lasts := 0
		c.start(0, n, func(int) {
			for round := range rounds {
				came.Add(1)
				b.wait(func() { lasts++ })
				if got := came.Load(); got < int64((round+1)*n) {
					t.Errorf("round %d: passed when %d had come", round, got)
				}
			}
		})
		c.wait()
		if lasts != rounds {
			t.Errorf("%d times somebody was the last, in %d rounds", lasts, rounds)
		}
	}
}

func TestACrewDoesEachJobOnItsThread(t *testing.T) {
	c := newCrew(4)
	var done [4]int
	for range 10 {
		c.start(0, 4, func(id int) { done[id]++ })
		c.wait()
	}
	c.start(1, 2, func(id int) { done[id] += 100 })
	c.wait()
	c.close()
	if done != [4]int{10, 110, 110, 10} {
		t.Errorf("%v", done)
	}
}

// countedLoad does as it is told, and counts.
type countedLoad struct{ done *atomic.Uint64 }

func (l countedLoad) run(n int) int {
	for range n {
		l.done.Add(1)
	}
	return n
}

func TestASlicerCountsAllThatWasDone(t *testing.T) {
	defer tuneRuntime(8)()
	for _, threads := range []int{1, 2, 5} { // one CPU is enough for the first only
		c := newCrew(threads)
		var noise Noise
		s := slicer{crew: c, cpus: usableCPUs()[:1], slice: 50 * time.Microsecond, want: 2, noise: &noise}
		var done atomic.Uint64
		var released atomic.Int32
		m := s.measure(context.Background(), threads, func(int) (load, func()) {
			return countedLoad{&done}, func() { released.Add(1) }
		})
		c.close()
		if m.total != done.Load() || m.total == 0 || !(m.rate > 0) || released.Load() != int32(threads) {
			t.Errorf("%d threads: %+v, %d done, %d released", threads, m, done.Load(), released.Load())
		}
		if m.slices != noise.Slices || m.disturbed != noise.Disturbed || threads == 1 && m.slices < 2 || threads > 1 && m.slices != 0 {
			t.Errorf("%d threads: %+v, noise %+v", threads, m, noise)
		}
	}
}

func TestACancelledSlicerMeasuresNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	defer tuneRuntime(4)()
	c := newCrew(2)
	defer c.close()
	s := slicer{crew: c, cpus: usableCPUs(), slice: time.Hour, want: 1, noise: new(Noise)}
	m := s.measure(ctx, 2, func(int) (load, func()) { return idle{}, func() {} })
	if !math.IsNaN(m.rate) || m.total != 0 {
		t.Errorf("%+v", m)
	}
}

func TestSumOfSlices(t *testing.T) {
	at := func(us int) time.Time { return time.Unix(0, 0).Add(time.Duration(us) * time.Microsecond) }
	parts := []sliceOf{
		{done: 100, from: at(0), to: at(100)},
		{done: 100, from: at(100), to: at(150)},
	}
	// Side by side they do 1 and 2 per microsecond; one after another, 200 in 150.
	if got := sum(parts, false); math.Abs(got-3e6) > 1 {
		t.Errorf("side by side: %v", got)
	}
	if got := sum(parts, true); math.Abs(got-200/150e-6) > 1 {
		t.Errorf("in turn: %v", got)
	}
}
