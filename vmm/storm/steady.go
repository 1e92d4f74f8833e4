// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"xenvmm/guest"
	"xenvmm/vmm"
)

// SteadyConfig describes the steady state of a running guest, for measuring:
// each vCPU has one event channel of its own, one thread per channel writes to
// its eventfd without a pause, one thread per channel waits for it, and memory
// stays as it is. Zero values mean the defaults.
type SteadyConfig struct {
	// Machine is the machine to run it on. Kernel, Cmdline, HostEvents, Waiters
	// and the console are set by Steady.
	Machine  vmm.Config
	Shared   bool          // all ports in one word of pending bits, not each in its own
	Duration time.Duration // of sending; default 1 s
}

// SteadyReport is what came of it. Counts are of all channels together and are
// exact; Elapsed is the time in which Written was written.
type SteadyReport struct {
	CPUs    int
	Guard   string
	Elapsed time.Duration

	Written   uint64      // to eventfds
	Taken     uint64      // batches taken from the eventfds: attempts to deliver
	Delivered uint64      // of these, that turned a pending bit from 0 to 1
	Coalesced uint64      // of these, that found it still set
	Upcalls   uint64      // runs of the guest's handler, with that of the end
	Lost      uint64      // pending bits set and not taken by the guest, or the other way round; must be 0
	Latency   vmm.Latency // eventfd write to bits set

	Guest vmm.Status
}

// Problem is what went wrong, in one line; empty if nothing did.
func (r *SteadyReport) Problem() string {
	switch g := &r.Guest; {
	case g.Ending != vmm.Poweroff:
		return g.String()
	case g.Verdict == nil || g.Verdict.Result != vmm.Pass:
		return "the guest ended without having passed"
	case r.Lost != 0:
		return fmt.Sprintf("%d events were lost of %d delivered", r.Lost, r.Delivered)
	case r.Taken != r.Delivered+r.Coalesced:
		return fmt.Sprintf("%d deliveries were made, but %d set a bit and %d found it set", r.Taken, r.Delivered, r.Coalesced)
	}
	return ""
}

// Bits in a word of pending bits, and the ports from one vCPU's to the next
// one's when each has a word of its own.
const wordPorts = 64

// farewell is how long a guest may take to count up and power off; one that
// takes longer has missed the event that tells it to.
const farewell = 30 * time.Second

// steadyEvents are the indices of the events that are written to, one for each
// vCPU: the guest binds the event with index i to vCPU i modulo their number.
func steadyEvents(cpus int, shared bool) []int {
	stride := wordPorts
	if shared {
		stride = 0
	} else if cpus > 1 {
		stride = min(stride, (vmm.MaxHostEvents-1-cpus)/(cpus-1))
	}
	events := make([]int, cpus)
	for v := range events {
		base := 1 + v*stride // 0 is the control event
		events[v] = base + ((v-base)%cpus+cpus)%cpus
	}
	return events
}

// Steady runs the guest and returns what came of it. The error is about the
// host or the configuration. When ctx ends, sending ends and the report is of
// the time until then; if it ends before sending has begun, that is an error.
func Steady(ctx context.Context, cfg SteadyConfig) (*SteadyReport, error) {
	image, ok := guest.Image("storm")
	if !ok {
		return nil, errors.New("the storm guest is not part of this build")
	}
	if cfg.Machine.CPUs == 0 {
		cfg.Machine.CPUs = 1
	}
	if cfg.Duration == 0 {
		cfg.Duration = time.Second
	}
	targets := steadyEvents(cfg.Machine.CPUs, cfg.Shared)
	counts := newTally(nil)
	mc := cfg.Machine
	mc.Kernel, mc.KernelName = image, "storm"
	mc.HostEvents = targets[len(targets)-1] + 1
	for _, i := range targets {
		mc.HostEvents = max(mc.HostEvents, i+1)
	}
	mc.Waiters = mc.CPUs
	mc.Cmdline = fmt.Sprintf("cpus=%d ports={ports}", mc.CPUs)
	mc.Console = vmm.Stream{Out: counts}
	m, err := vmm.New(mc)
	if err != nil {
		return nil, err
	}
	r, err := steady(ctx, m, cfg, targets, counts)
	return r, errors.Join(err, m.Close())
}

func steady(ctx context.Context, m *vmm.Machine, cfg SteadyConfig, targets []int, counts *tally) (*SteadyReport, error) {
	ready := make(chan struct{})
	var once sync.Once
	m.OnNotify(func(event int) {
		if event == 0 {
			once.Do(func() { close(ready) })
		}
	})
	if err := m.Start(); err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan vmm.Status, 1)
	go func() { ended <- m.Wait(running) }()
	r := &SteadyReport{CPUs: cfg.Machine.CPUs, Guard: m.Config().Guard}
	select {
	case r.Guest = <-ended:
		return r, nil
	case <-ctx.Done():
		stop()
		<-ended
		return nil, context.Cause(ctx)
	case <-ready:
	}
	written := make([]uint64, len(targets))
	if err := r.send(ctx, m, cfg.Duration, targets, written); err != nil {
		stop()
		<-ended
		return nil, err
	}
	late := time.AfterFunc(farewell, stop)
	defer late.Stop()
	for v, i := range targets {
		select {
		case <-m.HostEvents()[i].Taken(written[v]):
			continue
		case r.Guest = <-ended:
			return r, nil
		}
	}
	// Everything sent is in the guest's memory: the control event is the last.
	if err := m.HostEvents()[0].Signal(); err != nil {
		stop()
		<-ended
		return nil, err
	}
	r.Guest = <-ended
	r.count(m, targets, counts)
	return r, nil
}

// send writes for d from a thread for each target.
func (r *SteadyReport) send(ctx context.Context, m *vmm.Machine, d time.Duration, targets []int, written []uint64) error {
	var (
		stop    atomic.Bool
		ready   sync.WaitGroup
		senders sync.WaitGroup
		begin   = make(chan struct{})
		errs    = make([]error, len(targets))
	)
	ready.Add(len(targets))
	for v, i := range targets {
		event := m.HostEvents()[i]
		senders.Go(func() {
			// A thread of its own: what is measured is not how goroutines share one.
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			<-begin
			// Once at least, even if it gets no processor before the time is over.
			n := uint64(0)
			for more := true; more; more = !stop.Load() && errs[v] == nil {
				errs[v] = event.Signal()
				n++
			}
			written[v] = n
		})
	}
	ready.Wait()
	start := time.Now()
	close(begin)
	enough := time.NewTimer(d)
	defer enough.Stop()
	select {
	case <-enough.C:
	case <-ctx.Done():
	}
	stop.Store(true)
	senders.Wait()
	r.Elapsed = time.Since(start)
	for _, n := range written {
		r.Written += n
	}
	return errors.Join(errs...)
}

// count fills in the numbers of a machine that has ended.
func (r *SteadyReport) count(m *vmm.Machine, targets []int, counts *tally) {
	taken, upcalls, _ := counts.counts()
	r.Upcalls = upcalls
	for _, i := range targets {
		s := m.HostEvents()[i].Stats()
		r.Taken += s.Batches
		r.Delivered += s.Delivered
		r.Coalesced += s.Coalesced
		r.Lost += max(s.Delivered, taken[s.Port]) - min(s.Delivered, taken[s.Port])
	}
	r.Latency = m.Stats().Delivery
}
