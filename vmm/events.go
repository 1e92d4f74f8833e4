// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"xenvmm/gpc"
	"xenvmm/vmm/eventfd"
	"xenvmm/xenshim/evtchn"
)

// delivery is what belongs to one waiter's thread: its right to enter gpc
// sections, and the latencies it has measured.
type delivery struct {
	reader *gpc.Reader

	mu      sync.Mutex // guards latency; contended only while a snapshot is taken
	latency *hdrhistogram.Histogram
}

// Latencies are recorded from 1 ns to 10 s with two significant digits.
const maxLatency = int64(10 * time.Second)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, maxLatency, 2) }

// newDelivery is called on the waiter's thread, which keeps to it.
func newDelivery(caches *gpc.Set) *delivery {
	return &delivery{reader: caches.NewThreadReader(), latency: newHistogram()}
}

func (d *delivery) record(ns int64) {
	d.mu.Lock()
	_ = d.latency.RecordValue(min(max(ns, 1), maxLatency))
	d.mu.Unlock()
}

// HostEvent is an event channel whose other end is an eventfd of the host's: a
// write to it, from this process or another, sends the event to the guest.
type HostEvent struct {
	event  *eventfd.Event
	port   *evtchn.HostPort
	waiter *eventfd.Waiter[*delivery]
	source *eventfd.Source[*delivery] // nil while the kernel delivers; guarded by kernelEvents.mu

	// What the guest sends, if the kernel tells it by an eventfd.
	outbound     *eventfd.Event
	stopOutbound func()

	writes  atomic.Uint64 // counted when they are taken from the eventfd
	batches atomic.Uint64 // how often something was taken
	awaited atomic.Uint64 // see Taken; 0 when nobody waits
	reached chan struct{}
	once    sync.Once
	stamp   atomic.Int64 // when the oldest write not yet taken was made by Signal
	epoch   time.Time
}

// Port is the guest's port number.
func (h *HostEvent) Port() uint32 { return h.port.Port() }

// FD is the eventfd, to hand to whoever sends; it stays the machine's.
func (h *HostEvent) FD() int { return h.event.FD() }

// Signal sends the event once and has its latency measured, from here until
// the bits in the guest's memory are set.
func (h *HostEvent) Signal() error {
	if h.stamp.Load() == 0 {
		h.stamp.CompareAndSwap(0, int64(time.Since(h.epoch))+1)
	}
	return h.event.Signal()
}

// Fired implements eventfd.Sink.
func (h *HostEvent) Fired(d *delivery, n uint64) {
	sent := h.stamp.Swap(0)
	h.port.Notify(d.reader)
	h.batches.Add(1)
	taken := h.writes.Add(n)
	if want := h.awaited.Load(); want != 0 && taken >= want {
		h.once.Do(func() { close(h.reached) })
	}
	if sent != 0 {
		d.record(int64(time.Since(h.epoch)) + 1 - sent)
	}
}

// Taken returns a channel that is closed when at least n writes have been taken
// from the eventfd and delivered. It may be called once. Writes that the kernel
// delivers (EvtchnKernel) are not counted.
func (h *HostEvent) Taken(n uint64) <-chan struct{} {
	h.awaited.Store(max(n, 1))
	if n == 0 || h.writes.Load() >= n {
		h.once.Do(func() { close(h.reached) })
	}
	return h.reached
}

// HostEventStats are the counts of one HostEvent.
type HostEventStats struct {
	Port uint32
	// Taken is the number of writes taken from the eventfd, Batches how often
	// some were taken: writes between two of them are one event to the guest.
	// What the kernel delivers is counted nowhere.
	Taken, Batches uint64
	// Delivered counts the times the port's pending bit went from 0 to 1,
	// Coalesced the times it was still set, Latched the times there was no memory
	// to set it in, so that it was set later.
	Delivered, Coalesced, Latched uint64
}

// Stats may be called at any time; the counts are exact when nothing is in
// flight.
func (h *HostEvent) Stats() HostEventStats {
	s := HostEventStats{Port: h.Port(), Taken: h.writes.Load(), Batches: h.batches.Load()}
	s.Delivered, s.Coalesced, s.Latched = h.port.Stats()
	return s
}

func (h *HostEvent) close() error {
	if h.source != nil {
		h.source.Close()
	}
	h.port.Close()
	var err error
	if h.outbound != nil {
		h.stopOutbound()
		err = h.outbound.Close()
	}
	return errors.Join(err, h.event.Close())
}

// watch has this program deliver what is written to the eventfd.
func (h *HostEvent) watch() (err error) {
	h.source, err = h.waiter.Add(h.event.FD(), h)
	return err
}

// connectHostEvents makes n event channels with an eventfd each. notified is
// called when the guest sends on one of them.
func connectHostEvents(n int, table *evtchn.Table, waiters []*eventfd.Waiter[*delivery], notified func(i int)) ([]*HostEvent, error) {
	var events []*HostEvent
	fail := func(err error) ([]*HostEvent, error) {
		for _, h := range events {
			err = errors.Join(err, h.close())
		}
		return nil, err
	}
	for i := range n {
		e, err := eventfd.New()
		if err != nil {
			return fail(fmt.Errorf("host event %d of %d: %w", i, n, err))
		}
		p, err := table.BindHost(func() { notified(i) })
		if err != nil {
			return fail(errors.Join(fmt.Errorf("host event %d of %d: %w", i, n, err), e.Close()))
		}
		h := &HostEvent{event: e, port: p, epoch: time.Now(), reached: make(chan struct{}), waiter: waiters[i%len(waiters)]}
		if err := h.watch(); err != nil {
			p.Close()
			return fail(errors.Join(fmt.Errorf("host event %d of %d: %w", i, n, err), e.Close()))
		}
		events = append(events, h)
	}
	return events, nil
}
