// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"xenvmm/gpc"
	"xenvmm/vmm/eventfd"
)

const (
	waiterThreads = 2                     // as a machine has by default
	waiterSlice   = 15 * time.Millisecond // of writing, per row and round
	waiterLimit   = 10 * time.Second      // until all that was written has been delivered
)

// A waited source is one eventfd, its writer's count and the count of what has
// come through.
type waitedSource struct {
	_         [128]byte
	event     *eventfd.Event
	sig       *gpc.Signal
	guest     consumer
	wrote     uint64
	_         [128]byte
	taken     atomic.Uint64 // writes that a delivery stands for
	delivered uint64
	failed    uint64
	_         [128]byte
}

// Fired delivers on the waiter's thread: the sink of the product, with the guest
// added.
func (s *waitedSource) Fired(r *gpc.Reader, n uint64) {
	if r.Deliver(s.sig) != gpc.Raised {
		s.failed++
	}
	s.guest.take()
	s.delivered++
	s.taken.Add(n)
}

// waited has n threads write an eventfd each for a while, as fast as they can,
// which the waiting threads of vmm/eventfd take. One delivery stands for all
// writes since the last one.
func (e *deliveryRun) waited(ctx context.Context, d *domain, n int) (delivered, written float64, err error) {
	waiters := make([]*eventfd.Waiter[*gpc.Reader], min(n, waiterThreads))
	sources := make([]waitedSource, n)
	defer func() {
		for _, w := range waiters {
			if w != nil {
				err = errors.Join(err, w.Close())
			}
		}
		for i := range sources {
			if ev := sources[i].event; ev != nil {
				err = errors.Join(err, ev.Close())
			}
		}
	}()
	for i := range waiters {
		waiters[i], err = eventfd.NewWaiter(eventfd.Options{}, func() (*gpc.Reader, func()) {
			r := d.set.NewThreadReader()
			return r, r.Close
		})
		if err != nil {
			return 0, 0, err
		}
	}
	for i := range sources {
		s := &sources[i]
		s.sig = signal(d.shared[0], d.vcpus[i], portOf(LayoutSpread, i))
		if s.guest, err = newConsumer(d, s.sig, true); err != nil {
			return 0, 0, err
		}
		if s.event, err = eventfd.New(); err != nil {
			return 0, 0, err
		}
		if _, err = waiters[i%len(waiters)].Add(s.event.FD(), s); err != nil {
			return 0, 0, err
		}
	}
	errs := make([]error, n)
	start := time.Now()
	e.slicer.crew.start(0, n, func(id int) {
		confine(e.slicer.cpus...)
		s := &sources[id]
		// A thread that is scheduled late writes a little all the same.
		for end, more := start.Add(waiterSlice), true; more; more = time.Now().Before(end) && ctx.Err() == nil {
			for range 16 {
				errs[id] = errors.Join(errs[id], s.event.Signal())
				s.wrote++
			}
		}
		for deadline := time.Now().Add(waiterLimit); s.taken.Load() != s.wrote; yield() {
			if time.Now().After(deadline) {
				errs[id] = fmt.Errorf("%d of %d writes came through in %v", s.taken.Load(), s.wrote, waiterLimit)
				return
			}
		}
	})
	e.slicer.crew.wait()
	span := time.Since(start).Seconds()
	var deliveries, writes, failed uint64
	for i := range sources {
		deliveries += sources[i].delivered
		writes += sources[i].wrote
		failed += sources[i].failed
	}
	if failed != 0 {
		errs = append(errs, fmt.Errorf("%d of %d deliveries did not raise the upcall", failed, deliveries))
	}
	return float64(deliveries) / span, float64(writes) / span, errors.Join(errs...)
}
