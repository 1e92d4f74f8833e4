// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// A peerFigure is one thing that both sides are measured at: percentiles of each
// round, ns.
type peerFigure struct{ p50, p99 []float64 }

// round adds the samples of a round; none is a round in which nothing was
// measured.
func (f *peerFigure) round(samples []float64) {
	slices.Sort(samples)
	f.p50, f.p99 = append(f.p50, quantile(samples, 0.5)), append(f.p99, quantile(samples, 0.99))
}

// quantile of sorted samples, by the nearest rank.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return unmeasured(1)[0]
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// Who is measured, in the order of columns: nobody, then the two sides.
const (
	whoNone = iota
	whoOurs
	whoKernel
	whoCount
)

// peerEvents is one way to send events.
type peerEvents struct {
	what  string
	send  func(run *peerRun, s peerSide) func() error
	call  [whoCount]peerFigure // until the call comes back
	taken [whoCount]peerFigure // until the guest has taken the event
}

func newPeerEvents() []*peerEvents {
	return []*peerEvents{
		{what: "raise", send: func(run *peerRun, s peerSide) func() error {
			return func() error { return s.raise(run.reader) }
		}},
		{what: "eventfd", send: func(_ *peerRun, s peerSide) func() error { return s.write }},
	}
}

// measure takes turns event by event.
func (e *peerEvents) measure(run *peerRun) error {
	var call, taken [whoCount][]float64
	for range run.o.Events {
		for i, s := range run.sides() {
			t, err := run.rig.one(s, e.send(run, s))
			if err != nil {
				return err
			}
			run.sent[s]++
			who := whoOurs + i
			call[who], taken[who] = append(call[who], t.call), append(taken[who], t.taken)
		}
	}
	for who := whoOurs; who < whoCount; who++ {
		e.call[who].round(call[who])
		e.taken[who].round(taken[who])
	}
	return nil
}

// peerChanges is one kind of change to guest memory, made while one side's cache
// of shared_info is live, the other's is, or none.
type peerChanges struct {
	what   string
	gpa, n uint64 // what it changes
	change func(r *peerRig) error

	idle  [whoCount]peerFigure // nothing is delivered meanwhile
	busy  [whoCount]peerFigure // a thread delivers without a pause
	after [whoCount]peerFigure // the first event afterwards, until the guest has taken it
}

func newPeerChanges() []*peerChanges {
	return []*peerChanges{
		{what: "remap of its frame", gpa: peerShared, n: pageSize, change: (*peerRig).remap},
		{what: "another slot comes and goes", gpa: peerScratch, n: peerScratchSize, change: (*peerRig).slot},
	}
}

func (c *peerChanges) measure(run *peerRun) (err error) {
	for _, s := range run.sides() {
		if err := s.detach(); err != nil {
			return err
		}
	}
	defer func() {
		for _, s := range run.sides() {
			err = errors.Join(err, s.attach())
		}
	}()
	if err := c.alone(run); err != nil {
		return err
	}
	for i, s := range run.sides() {
		if err := s.attach(); err != nil {
			return err
		}
		if err := errors.Join(c.idly(run, s, whoOurs+i), c.busily(run, s, whoOurs+i), s.detach()); err != nil {
			return err
		}
	}
	return nil
}

// timed makes one change.
func (c *peerChanges) timed(run *peerRun, around func(gpa, n uint64, change func() error) error) (float64, error) {
	start := time.Now()
	err := around(c.gpa, c.n, func() error { return c.change(run.rig) })
	return float64(time.Since(start)), err
}

// alone is the change by itself: no cache of shared_info is live.
func (c *peerChanges) alone(run *peerRun) error {
	var samples []float64
	for range run.o.Changes {
		t, err := c.timed(run, run.kernel.around)
		if err != nil {
			return err
		}
		samples = append(samples, t)
	}
	c.idle[whoNone].round(samples)
	return nil
}

// idly delivers one event after each change.
func (c *peerChanges) idly(run *peerRun, s peerSide, who int) error {
	var samples, after []float64
	for range run.o.Changes {
		t, err := c.timed(run, s.around)
		if err != nil {
			return err
		}
		e, err := run.rig.one(s, func() error { return s.raise(run.reader) })
		if err != nil {
			return err
		}
		run.sent[s]++
		samples, after = append(samples, t), append(after, e.taken)
	}
	c.idle[who].round(samples)
	c.after[who].round(after)
	return nil
}

// busily changes while another thread delivers, one event after the other.
func (c *peerChanges) busily(run *peerRun, s peerSide, who int) error {
	var (
		stop   atomic.Bool
		sent   uint64
		failed error
		begun  = make(chan struct{})
		ended  = make(chan struct{})
	)
	go func() {
		defer close(ended)
		runtime.LockOSThread() // it ends with the goroutine
		r := run.ours.set.NewThreadReader()
		defer r.Close()
		for first := true; failed == nil && (first || !stop.Load()); first = false {
			if _, failed = run.rig.one(s, func() error { return s.raise(r) }); failed == nil {
				sent++
			}
			if first {
				close(begun)
			}
		}
	}()
	<-begun
	var samples []float64
	var err error
	for range run.o.Changes {
		var t float64
		if t, err = c.timed(run, s.around); err != nil {
			break
		}
		samples = append(samples, t)
		yield()
	}
	stop.Store(true)
	<-ended
	run.sent[s] += sent
	c.busy[who].round(samples)
	return errors.Join(err, failed)
}
