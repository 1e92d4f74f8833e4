// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"xenvmm/vmm/eventfd"
)

const (
	wakeWarmup = 5                // events at the start of a slice that are not counted
	wakeLost   = 30 * time.Second // after so long an event has been lost
	wakeLook   = 20 * time.Microsecond
)

// wakeProbe is what the sender and the handler of one slice share.
type wakeProbe struct {
	epoch time.Time
	sent  atomic.Int64  // since epoch, ns: when the write in flight began
	took  atomic.Int64  // ns from there to the handler
	count atomic.Uint64 // events handled
}

func (p *wakeProbe) now() int64 { return int64(time.Since(p.epoch)) }

func (p *wakeProbe) fired() {
	p.took.Store(p.now() - p.sent.Load())
	p.count.Add(1)
}

// slice sends for d, one event at a time, and records into the row.
func (r *wakeRow) slice(ctx context.Context, d time.Duration) error {
	event, err := eventfd.New()
	if err != nil {
		return err
	}
	probe := &wakeProbe{epoch: time.Now()}
	stop, err := r.receiver.start(event.FD(), probe.fired)
	if err != nil {
		return errors.Join(err, event.Close())
	}
	sent := make(chan error)
	go func() {
		// Never unlocked: the thread, whose timers are exact, ends with the
		// goroutine.
		runtime.LockOSThread()
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // else 50 us
		sent <- r.send(ctx, probe, event, d)
	}()
	err = <-sent
	return errors.Join(err, stop(), event.Close())
}

func (r *wakeRow) send(ctx context.Context, probe *wakeProbe, event *eventfd.Event, d time.Duration) error {
	r.begin()
	end := probe.now() + int64(d)
	for n := uint64(1); ctx.Err() == nil && (probe.now() < end || n <= wakeWarmup+1); n++ {
		sleep(r.condition.gap)
		before := preemptions()
		start := probe.now()
		probe.sent.Store(start)
		if err := event.Signal(); err != nil {
			return err
		}
		written := probe.now() - start
		preempted := preemptions() != before
		for probe.count.Load() != n {
			// Asleep, so that the sender is not what keeps a CPU from the handler.
			sleep(wakeLook)
			if probe.now()-start > int64(wakeLost) {
				return fmt.Errorf("%s did not see event %d in %v", r.receiver.name, n, wakeLost)
			}
		}
		if n > wakeWarmup {
			r.record(probe.took.Load(), written, preempted)
		}
	}
	r.end()
	return context.Cause(ctx)
}

func sleep(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // an interrupted sleep is a shorter gap
}

// preemptions is how often this thread had to give up its CPU.
func preemptions() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return 0
	}
	return u.Nivcsw
}
