// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"xenvmm/vmm/eventfd"
)

// A miniature of the whole run: every receiver sees its events in every
// condition, and nothing is left behind.
func TestWakeMeasuresEveryReceiverInEveryCondition(t *testing.T) {
	defer goleak.VerifyNone(t)
	procs := runtime.GOMAXPROCS(0)
	steps := 0
	r, err := Wake(t.Context(), WakeOptions{Rounds: 1, Duration: 10 * time.Millisecond}, func(s Step) {
		if s.Done != steps || s.Total != len(wakeConditions())*len(wakeReceivers()) {
			t.Errorf("step %+v after %d", s, steps)
		}
		steps++
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := runtime.GOMAXPROCS(0); got != procs {
		t.Errorf("GOMAXPROCS is %d afterwards, was %d", got, procs)
	}
	if r.Name != "wake" || r.Partial || len(r.Tables) != 1 {
		t.Fatalf("report %+v", r)
	}
	seen := map[[2]string]bool{}
	for _, row := range r.Tables[0].Rows {
		seen[[2]string{row[0].Text, row[1].Text}] = true
		samples, p50, p99, top, write := row[2].Number, row[4].Number, row[6].Number, row[7].Number, row[8].Number
		if samples.Median < 1 || p50.Median <= 0 || p50.Median > p99.Median || p99.Median > top.Median || write != nil && write.Median <= 0 {
			t.Errorf("%s, %s: %v samples, p50 %v, p99 %v, max %v, write %v", row[0].Text, row[1].Text, samples, p50, p99, top, write)
		}
	}
	for _, c := range wakeConditions() {
		for _, rc := range wakeReceivers() {
			if !seen[[2]string{c.name, rc.name}] {
				t.Errorf("no row for %s, %s", c.name, rc.name)
			}
		}
	}
}

func TestWakeEndsEarlyWithWhatItHas(t *testing.T) {
	defer goleak.VerifyNone(t)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	r, err := Wake(ctx, WakeOptions{Rounds: 100, Duration: 100 * time.Millisecond}, func(s Step) {
		if s.Done == 3 {
			cancel(why)
		}
	})
	if !errors.Is(err, why) {
		t.Fatalf("ended with %v", err)
	}
	if r == nil || !r.Partial || len(r.Tables[0].Rows) == 0 || len(r.Tables[0].Rows) > 4 {
		t.Errorf("report %+v", r)
	}
	cancelled, cancel2 := context.WithCancelCause(t.Context())
	cancel2(why)
	if r, err := Wake(cancelled, WakeOptions{}, nil); r != nil || !errors.Is(err, why) {
		t.Errorf("cancelled before the start: %v, %v", r, err)
	}
}

func TestWakeOptionsOutOfRangeAreRefused(t *testing.T) {
	for _, o := range []WakeOptions{{Rounds: -1}, {Rounds: 1001}, {Duration: time.Microsecond}, {Duration: 2 * time.Hour}, {Duration: -1}} {
		if r, err := Wake(t.Context(), o, nil); err == nil || r != nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

// A receiver sees every event once, and none after it was stopped.
func TestReceiversSeeEveryEventAndNoneAfterwards(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, rc := range wakeReceivers() {
		event, err := eventfd.New()
		if err != nil {
			t.Fatal(err)
		}
		defer event.Close()
		fired := make(chan struct{}, 16)
		stop, err := rc.start(event.FD(), func() { fired <- struct{}{} })
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := event.Signal(); err != nil {
				t.Fatal(err)
			}
			<-fired
		}
		if err := stop(); err != nil {
			t.Errorf("%s: stop: %v", rc.name, err)
		}
		_ = event.Signal()
		runtime.Gosched()
		if len(fired) != 0 {
			t.Errorf("%s: fired after stop", rc.name)
		}
	}
}

func TestSharesAboveAreThoseOfTheSamples(t *testing.T) {
	r := newWakeRow(condition{}, receiver{})
	r.begin()
	for _, ns := range []int64{100, 200, 300, 400} {
		r.record(ns, 10, false)
	}
	r.record(500, 1e6, true) // preempted
	r.end()
	points := above(r.all)
	if n := len(points); n != 6 || points[0].Y != 1 || points[1].Y != 0.8 || points[n-1].Y != 0 {
		t.Errorf("%+v", points)
	}
	if r.preempted != 1 || r.p50[0] != 300 || r.top[0] != 500 || r.write50[0] != 10 {
		t.Errorf("preempted %d, p50 %v, max %v, write %v", r.preempted, r.p50, r.top, r.write50)
	}
}
