// SPDX-License-Identifier: Apache-2.0

// Package evtchn implements Xen's event channels for one guest domain: the
// table of ports, the operations of event_channel_op with Xen's error codes,
// the host's ends of channels to backends, and delivery by the 2-level ABI
// (public/event_channel.h, public/xen.h).
//
// # Delivery
//
// An event is three bits in guest memory: pending[port] in shared_info, the
// port's word in evtchn_pending_sel, and evtchn_upcall_pending, the last two in
// the vcpu_info of the vCPU that the port is bound to. They are set in this
// order, each by a locked instruction, in one read section of package gpc. Only
// a transition of evtchn_upcall_pending from 0 to 1 calls the Upcaller: the
// guest clears that flag before it looks at the rest, so whatever is set while
// it is 1 will be looked at.
//
// # Nothing is lost
//
// Guest memory may be away: being moved, unmapped by the guest, or not mapped
// yet. A sender that finds it stale waits for the change to end and tries again.
// If there is no memory then, what is left to do is latched, in bitmaps of fixed
// size with one bit per port, and replayed when memory returns:
//
//	latched  the event itself: no shared_info
//	owed     selector and upcall, pending is set: no vcpu_info
//	unmasks  an unmask that the guest asked for
//	clears   pending bits of closed ports; such a port is not given out again
//
// Two events for a port that are latched become one, as two that are pending do.
// A replay may send an event once more than needed, never once less.
//
// # Concurrency
//
// Every method may be called from any goroutine; a gpc.Reader passed in is the
// caller's and used by nobody else meanwhile. Sending takes no lock and
// allocates nothing: it reads an immutable entry per port, published by an
// atomic pointer. Changing bindings is serialised by one mutex. A sender that
// was overtaken by such a change sees that the entry is no longer the one it
// used, and has the rest redone according to the new one.
//
// No method may be called between a gpc InvalidateStart and its InvalidateEnd by
// the goroutine that is between them: most of them may wait for the end.
package evtchn
