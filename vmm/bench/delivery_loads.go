// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"xenvmm/gpc"
	"xenvmm/vmm/eventfd"

	"golang.org/x/sys/unix"
)

// tally is what came of one thread's deliveries.
type tally struct {
	events  uint64 // meant to be delivered
	raised  uint64 // raised the upcall, which the guest then took
	pending uint64 // found the vCPU raised already
	early   uint64 // found the port pending already
	other   uint64 // anything else: a fault of the bench
}

func (t *tally) add(o *tally) {
	t.events += o.events
	t.raised += o.raised
	t.pending += o.pending
	t.early += o.early
	t.other += o.other
}

func (t *tally) note(r gpc.Result) {
	t.events++
	switch r {
	case gpc.Raised:
		t.raised++
	case gpc.Pending:
		t.pending++
	case gpc.Coalesced:
		t.early++
	default:
		t.other++
	}
}

// A deliverer is one thread's way to deliver, padded because threads change
// their own all the time.
type deliverer struct {
	_     [128]byte
	r     *gpc.Reader
	sig   *gpc.Signal
	guest consumer
	tally tally
	_     [128]byte
}

// inlineLoad delivers, and plays the guest that takes the upcall.
type inlineLoad struct{ deliverer }

func (d *inlineLoad) run(n int) int {
	raised := uint64(0)
	for range n {
		if r := d.r.Deliver(d.sig); r == gpc.Raised {
			raised++
		} else {
			d.tally.note(r)
		}
		d.guest.take()
	}
	d.tally.raised += raised
	d.tally.events += raised
	return n
}

// earlyLoad delivers to a port that is pending.
type earlyLoad struct{ deliverer }

func (d *earlyLoad) run(n int) int {
	early := uint64(0)
	for range n {
		if r := d.r.Deliver(d.sig); r == gpc.Coalesced {
			early++
		} else {
			d.tally.note(r)
		}
	}
	d.tally.early += early
	d.tally.events += early
	return n
}

// batchLoad delivers up to width events of one word at once: one operation sets
// their bits, one looks at their masks, and one raises the vCPU for all.
type batchLoad struct {
	deliverer
	bits  uint32
	width int
}

func (d *batchLoad) run(n int) int {
	t, done := d.tally, 0
	for ; done < n; done += d.width {
		old, ok := d.r.Or32(d.sig.Shared, d.sig.Pending.Off, d.bits)
		masked, ok2 := d.r.Load32(d.sig.Shared, d.sig.Mask.Off)
		if !ok || !ok2 || old&d.bits != 0 || masked&d.bits != 0 {
			t.other++
		}
		t.events += uint64(d.width)
		switch d.r.Raise(d.sig) {
		case gpc.Raised:
			t.raised += uint64(d.width)
		case gpc.Pending:
			t.pending += uint64(d.width)
		default:
			t.other++
		}
		d.guest.take()
	}
	d.tally = t
	return done
}

// eventfdLoad has an eventfd in front: written and read by the same thread, so
// that no thread has to be woken.
type eventfdLoad struct {
	deliverer
	event *eventfd.Event
	buf   [8]byte
}

func (d *eventfdLoad) run(n int) int {
	t := d.tally
	for range n {
		if d.event.Signal() != nil {
			t.other++
		}
		if k, err := unix.Read(d.event.FD(), d.buf[:]); k != len(d.buf) || err != nil {
			t.other++
		}
		t.note(d.r.Deliver(d.sig))
		d.guest.take()
	}
	d.tally = t
	return n
}
