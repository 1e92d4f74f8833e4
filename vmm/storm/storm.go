// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"xenvmm/guest"
	"xenvmm/vmm"
)

// Run lets the storm blow and returns what came of it. The error is about the
// host or the configuration; what went wrong in the guest or was lost is in
// the report. When ctx ends first, the report says so.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	image, ok := guest.Image("storm")
	if !ok {
		return nil, errors.New("the storm guest is not part of this build")
	}
	counts := newTally(cfg.Machine.Console.Out)
	mc := cfg.Machine
	mc.Kernel, mc.KernelName = image, "storm"
	mc.HostEvents = cfg.Sources + 1 // the first one is for control
	mc.Cmdline = fmt.Sprintf("cpus=%d ports={ports} upcall=%s moves=%d %s", mc.CPUs, cfg.Upcall, cfg.Moves, cfg.Args)
	mc.Console.Out = counts
	m, err := vmm.New(mc)
	if err != nil {
		return nil, err
	}
	r, err := blow(ctx, m, cfg, counts)
	return r, errors.Join(err, m.Close())
}

func blow(ctx context.Context, m *vmm.Machine, cfg Config, counts *tally) (*Report, error) {
	ready := make(chan struct{})
	var once sync.Once
	m.OnNotify(func(event int) {
		if event == 0 {
			once.Do(func() { close(ready) })
		}
	})
	ended := make(chan vmm.Status, 1)
	if err := m.Start(); err != nil {
		return nil, err
	}
	go func() { ended <- m.Wait(ctx) }()
	start := time.Now()
	r := &Report{Guard: m.Config().Guard, CPUs: cfg.Machine.CPUs, Sources: cfg.Sources}
	select {
	case r.Guest = <-ended:
		return r, nil
	case <-ready:
	}
	written, err := storm(m, cfg, ended, &r.Guest, &r.Remaps)
	r.Elapsed = time.Since(start)
	if err != nil {
		m.Stop()
		if r.Guest.Ending == vmm.Running {
			r.Guest = <-ended
		}
		return r, err
	}
	if r.Guest.Ending == vmm.Running {
		// Everything sent is in the guest's memory: the control event is the last.
		if err := m.HostEvents()[0].Signal(); err != nil {
			return r, err
		}
		r.Guest = <-ended
	}
	r.count(m, written, counts)
	return r, nil
}

// storm sends and churns until enough was done or the guest has ended, and
// waits until every event that was sent has been delivered.
func storm(m *vmm.Machine, cfg Config, ended <-chan vmm.Status, guest *vmm.Status, remaps *uint64) (uint64, error) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	var total atomic.Uint64
	senders := make([]*sender, cfg.Senders)
	events := m.HostEvents()[1:]
	for i := range senders {
		s := &sender{pace: cfg.Pace, total: &total}
		for j := i; j < len(events); j += cfg.Senders {
			s.events = append(s.events, events[j])
		}
		senders[i] = s
		g.Go(func() error { return s.run(ctx) })
	}
	churn := &churner{mem: m.Memory(), frames: func() []uint64 { return append(m.EventFrames(), m.RingFrames()...) }}
	g.Go(func() error { return churn.run(ctx) })
	before := m.Stats().Changes
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for enough := false; !enough; {
		select {
		case *guest = <-ended:
			enough = true
		case <-ctx.Done(): // a sender or the churner failed
			enough = true
		case <-tick.C:
			p := Progress{Events: total.Load(), EventsWanted: cfg.Events, Changes: m.Stats().Changes - before, ChangesWanted: cfg.Changes}
			if cfg.Progress != nil {
				cfg.Progress(p)
			}
			enough = p.Events >= p.EventsWanted && p.Changes >= p.ChangesWanted
		}
	}
	stop()
	if err := g.Wait(); err != nil {
		return 0, err
	}
	*remaps = churn.remaps.Load()
	sum := uint64(0)
	for _, s := range senders {
		for i, e := range s.events {
			sum += s.written[i]
			if guest.Ending != vmm.Running {
				continue
			}
			select {
			case <-e.Taken(s.written[i]):
			case *guest = <-ended:
			}
		}
	}
	return sum, nil
}

// count fills in the numbers. The machine has ended.
func (r *Report) count(m *vmm.Machine, written uint64, counts *tally) {
	taken, upcalls, moves := counts.counts()
	r.Upcalls, r.GuestMoves = upcalls, moves
	r.Sent = written
	for _, e := range m.HostEvents()[1:] {
		s := e.Stats()
		r.Delivered += s.Delivered
		r.Coalesced += s.Coalesced + s.Taken - s.Batches
		r.Latched += s.Latched
		r.Taken += taken[s.Port]
		// Both too few and too many are wrong; more taken than delivered would be
		// an event made up.
		r.Lost += max(s.Delivered, taken[s.Port]) - min(s.Delivered, taken[s.Port])
	}
	st := m.Stats()
	r.SlowPath = st.Events.SlowPath
	r.Changes = st.Changes
	r.Invalidations = st.Caches.Invalidations
	r.Hits = st.Caches.FastPath + st.Caches.SlowPath
	if r.Hits > 0 {
		r.FastShare = float64(st.Caches.FastPath) / float64(r.Hits)
	}
	r.Delivery = st.Delivery
	d := st.Caches.Drain
	r.Drain = vmm.Latency{Count: int64(d.Count), P50: time.Duration(d.P50), P99: time.Duration(d.P99), P999: time.Duration(d.P999), Max: time.Duration(d.Max)}
}
