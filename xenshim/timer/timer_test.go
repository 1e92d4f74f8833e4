// SPDX-License-Identifier: Apache-2.0

package timer

import (
	"math"
	"testing"

	"xenvmm/xenshim/abi"
)

const ms = uint64(1_000_000)

func TestErrorsOfEachOperation(t *testing.T) {
	for _, c := range []struct {
		name string
		op   func(r *rig) abi.Errno
		want abi.Errno
	}{
		{"one-shot ahead", func(r *rig) abi.Errno { return r.SetSingleshot(0, 5000*ms) }, abi.OK},
		{"one-shot in the past", func(r *rig) abi.Errno { return r.SetSingleshot(0, 1) }, abi.OK},
		{"one-shot at zero", func(r *rig) abi.Errno { return r.SetSingleshot(0, 0) }, abi.OK},
		{"one-shot negative", func(r *rig) abi.Errno { return r.SetSingleshot(0, 1<<63) }, abi.OK},
		{"one-shot of no vCPU", func(r *rig) abi.Errno { return r.SetSingleshot(2, 5000*ms) }, abi.ENOENT},
		{"one-shot of a negative vCPU", func(r *rig) abi.Errno { return r.SetSingleshot(-1, 5000*ms) }, abi.ENOENT},
		{"stopping a one-shot never started", func(r *rig) abi.Errno { return r.StopSingleshot(1) }, abi.OK},
		{"stopping the one-shot of no vCPU", func(r *rig) abi.Errno { return r.StopSingleshot(9) }, abi.ENOENT},
		{"period just under 1 ms", func(r *rig) abi.Errno { return r.SetPeriodic(0, ms-1) }, abi.EINVAL},
		{"period zero", func(r *rig) abi.Errno { return r.SetPeriodic(0, 0) }, abi.EINVAL},
		{"period 1 ms", func(r *rig) abi.Errno { return r.SetPeriodic(0, ms) }, abi.OK},
		{"longest period", func(r *rig) abi.Errno { return r.SetPeriodic(0, 1<<62-1) }, abi.OK},
		{"period over 2^62", func(r *rig) abi.Errno { return r.SetPeriodic(0, 1<<62+1) }, abi.EINVAL},
		{"period all ones", func(r *rig) abi.Errno { return r.SetPeriodic(0, math.MaxUint64) }, abi.EINVAL},
		{"period of no vCPU", func(r *rig) abi.Errno { return r.SetPeriodic(2, ms) }, abi.ENOENT},
		{"stopping a periodic timer never started", func(r *rig) abi.Errno { return r.StopPeriodic(0) }, abi.OK},
		{"stopping the periodic timer of no vCPU", func(r *rig) abi.Errno { return r.StopPeriodic(2) }, abi.ENOENT},
		{"set_timer_op ahead", func(r *rig) abi.Errno { return r.SetTimerOp(0, 5000*ms) }, abi.OK},
		{"set_timer_op stop", func(r *rig) abi.Errno { return r.SetTimerOp(0, 0) }, abi.OK},
		{"set_timer_op of no vCPU", func(r *rig) abi.Errno { return r.SetTimerOp(3, 1) }, abi.ENOENT},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(2)
			r.clock.ns.Store(1000 * ms)
			if e := c.op(r); e != c.want {
				t.Fatalf("got %v, want %v", e, c.want)
			}
		})
	}
}

func TestPastDeadlineFiresAtOnce(t *testing.T) {
	for name, deadline := range map[string]uint64{
		"past": 999 * ms, "now": 1000 * ms, "zero": 0, "negative": 1 << 63, "minus one": math.MaxUint64,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(2)
			r.clock.ns.Store(1000 * ms)
			r.SetSingleshot(1, deadline)
			if n := r.fired[1].Load(); n != 1 {
				t.Fatalf("fired %d times before the call returned, want 1", n)
			}
			if _, ok := r.alarm.at(1); ok {
				t.Fatal("alarm left armed by a deadline that fired")
			}
			r.advance(5000 * ms)
			if n := r.fired[1].Load(); n != 1 {
				t.Fatalf("fired %d times in all, want 1", n)
			}
			if n := r.fired[0].Load(); n != 0 {
				t.Fatalf("other vCPU got %d events", n)
			}
		})
	}
}

func TestOneShotFiresOnceAtItsDeadline(t *testing.T) {
	r := newRig(1)
	r.SetSingleshot(0, 100)
	r.advance(99)
	if r.fired[0].Load() != 0 {
		t.Fatal("fired early")
	}
	r.advance(100)
	if r.fired[0].Load() != 1 {
		t.Fatal("did not fire at its deadline")
	}
	r.advance(1000)
	if r.fired[0].Load() != 1 {
		t.Fatal("fired again")
	}
}

func TestReplacedAndStoppedDeadlinesNeverFire(t *testing.T) {
	r := newRig(1)
	r.SetSingleshot(0, 100)
	r.SetSingleshot(0, 500)
	r.clock.ns.Store(100)
	r.Expired(0) // the alarm of the first deadline was already on its way
	if r.fired[0].Load() != 0 {
		t.Fatal("a replaced deadline fired")
	}
	if d, ok := r.alarm.at(0); !ok || d != 500 {
		t.Fatalf("alarm at %d (%v), want 500", d, ok)
	}
	r.StopSingleshot(0)
	if _, ok := r.alarm.at(0); ok {
		t.Fatal("alarm still armed after the stop")
	}
	r.clock.ns.Store(500)
	r.Expired(0)
	if r.fired[0].Load() != 0 {
		t.Fatal("a stopped timer fired")
	}
}

func TestSetTimerOpTreatsOverflowAsHundredMilliseconds(t *testing.T) {
	const now = 1000 * ms
	for name, c := range map[string]struct{ abs, want uint64 }{
		"just under 2^50 ahead": {now + 1<<50 - 1, now + 1<<50 - 1},
		"2^50 ahead":            {now + 1<<50, now + 100*ms},
		"2^62":                  {1 << 62, now + 100*ms},
		"negative":              {1 << 63, now + 100*ms},
		"minus one":             {math.MaxUint64, now + 100*ms},
		"near":                  {now + 1, now + 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(1)
			r.clock.ns.Store(now)
			r.SetTimerOp(0, c.abs)
			if d, ok := r.alarm.at(0); !ok || d != c.want {
				t.Fatalf("alarm at %d (%v), want %d", d, ok, c.want)
			}
			if r.fired[0].Load() != 0 {
				t.Fatal("fired at once")
			}
		})
	}
}

func TestSetTimerOpSharesTheOneShot(t *testing.T) {
	r := newRig(1)
	r.SetSingleshot(0, 100)
	r.SetTimerOp(0, 0)
	r.advance(200)
	if r.fired[0].Load() != 0 {
		t.Fatal("set_timer_op(0) did not stop the one-shot timer")
	}
	r.SetTimerOp(0, 150)
	if r.fired[0].Load() != 1 {
		t.Fatal("a past set_timer_op did not fire at once")
	}
}

func TestPeriodicTicksStayOnTheirGrid(t *testing.T) {
	r := newRig(1)
	r.clock.ns.Store(7)
	r.SetPeriodic(0, ms)
	for k := uint64(1); k <= 1000; k++ {
		late := (k * 7919) % (ms / 2) // every alarm is late by another amount
		r.clock.ns.Store(7 + k*ms + late)
		r.Expired(0)
		if n := r.fired[0].Load(); n != int64(k) {
			t.Fatalf("after %d periods: %d ticks", k, n)
		}
		if d, _ := r.alarm.at(0); d != 7+(k+1)*ms {
			t.Fatalf("next tick at %d, want %d: the grid moved", d, 7+(k+1)*ms)
		}
	}
}

func TestMissedTicksBecomeOne(t *testing.T) {
	r := newRig(1)
	r.SetPeriodic(0, ms)
	r.clock.ns.Store(50*ms + 3)
	r.Expired(0)
	if n := r.fired[0].Load(); n != 1 {
		t.Fatalf("%d ticks for 50 missed ones, want 1", n)
	}
	if d, _ := r.alarm.at(0); d != 51*ms {
		t.Fatalf("next tick at %d, want %d", d, 51*ms)
	}
}

func TestLongestPeriodDoesNotOverflow(t *testing.T) {
	r := newRig(1)
	r.clock.ns.Store(1 << 61)
	r.SetPeriodic(0, maxPeriod)
	r.clock.ns.Store(math.MaxInt64)
	r.Expired(0)
	if n := r.fired[0].Load(); n != 1 {
		t.Fatalf("%d ticks, want 1", n)
	}
}

func TestOneShotAndPeriodicRunSideBySide(t *testing.T) {
	r := newRig(1)
	r.SetPeriodic(0, 10*ms)
	r.SetSingleshot(0, 15*ms)
	r.advance(40 * ms)
	if n := r.fired[0].Load(); n != 5 {
		t.Fatalf("%d events, want 4 ticks and 1 shot", n)
	}
	r.StopPeriodic(0)
	r.advance(100 * ms)
	if n := r.fired[0].Load(); n != 5 {
		t.Fatalf("%d events after the stop, want 5", n)
	}
}

func TestRejectedPeriodLeavesTheTimerRunning(t *testing.T) {
	r := newRig(1)
	r.SetPeriodic(0, ms)
	if e := r.SetPeriodic(0, 1); e != abi.EINVAL {
		t.Fatal(e)
	}
	r.advance(10 * ms)
	if n := r.fired[0].Load(); n != 10 {
		t.Fatalf("%d ticks, want 10", n)
	}
}

func TestNeedlessAlarmDoesNothing(t *testing.T) {
	r := newRig(1)
	r.Expired(0)
	r.Expired(-1)
	r.Expired(7)
	if r.fired[0].Load() != 0 || r.alarm.arms != 0 || r.alarm.disarms != 0 {
		t.Fatal("an alarm with no timer running had an effect")
	}
}

func TestResetStopsEverything(t *testing.T) {
	r := newRig(3)
	for id := range 3 {
		r.SetSingleshot(id, 100)
		r.SetPeriodic(id, ms)
	}
	r.Reset()
	r.advance(10 * ms)
	for id := range 3 {
		if n := r.fired[id].Load(); n != 0 {
			t.Fatalf("vCPU %d got %d events after the reset", id, n)
		}
	}
}

func BenchmarkSetSingleshot(b *testing.B) {
	r := newRig(1)
	b.ReportAllocs()
	for b.Loop() {
		r.SetSingleshot(0, 1<<40)
	}
}
