// SPDX-License-Identifier: Apache-2.0

package gpc

// A Bit names one bit of guest memory: bit Bit (0 to 31) of the 32-bit word at
// byte offset Off of a cache. Off is a multiple of 4.
type Bit struct {
	Off uint32
	Bit uint8
}

// A Signal is the immutable description of what raising one event channel port
// touches. Shared and VCPU may be the same cache; neither is nil.
type Signal struct {
	Shared  *Cache // holds the pending and mask bits
	Pending Bit
	Mask    Bit
	VCPU    *Cache // holds the selector word and the upcall byte
	Sel     Bit
	Upcall  uint32 // byte offset of evtchn_upcall_pending in VCPU
}

// A Result says how far a signal got.
type Result int

const (
	// Stale: Shared is not valid, nothing was done. Refresh it and try again.
	Stale Result = iota
	// StalePort: the pending bit is set (for Unmask: the mask bit is cleared), and
	// Shared went stale before the other bit was looked at. The caller owes a
	// Resume.
	StalePort
	// StaleVCPU: the port is pending and not masked, and VCPU is not valid. The
	// selector bit may be set already. The caller owes a Raise.
	StaleVCPU
	// Coalesced: the pending bit was set already; nothing else was done.
	Coalesced
	// Masked: the pending bit is set now, and the port is masked.
	Masked
	// Pending: no new interrupt is needed, since the selector bit was set
	// already, or the upcall byte was non-zero.
	Pending
	// Raised: the upcall byte went from 0 to 1. Inject the upcall.
	Raised
	// NotPending: Unmask or Resume found nothing to do: the port was not masked,
	// or is not pending.
	NotPending
)

var resultNames = [...]string{"stale", "stale port", "stale vcpu_info", "coalesced", "masked", "pending", "raised", "not pending"}

func (r Result) String() string {
	if r < 0 || int(r) >= len(resultNames) {
		return "unknown"
	}
	return resultNames[r]
}

// Deliver marks the port pending and, unless it was or is masked, raises its
// vCPU. The order is that of xen/include/public/event_channel.h consumers: the
// pending bit before the mask is read, the selector bit before the upcall byte,
// each with a locked operation. Memory may go away between them, and then the
// result tells how far the event got.
func (r *Reader) Deliver(s *Signal) Result {
	r.owner.check()
	if r.lock == nil {
		res := deliver(r.slot, s)
		if res == Stale {
			res = r.linger(s)
		}
		return r.written(s, res)
	}
	r.lock.enter(s.Shared, s.VCPU)
	res := deliver(r.slot, s)
	r.lock.exit(s.Shared, s.VCPU)
	return r.written(s, res)
}

// Unmask clears the port's mask bit and, if it was set and the port is pending,
// raises its vCPU.
func (r *Reader) Unmask(s *Signal) Result {
	r.owner.check()
	if r.lock == nil {
		return r.written(s, unmask(r.slot, s))
	}
	r.lock.enter(s.Shared, s.VCPU)
	res := unmask(r.slot, s)
	r.lock.exit(s.Shared, s.VCPU)
	return r.written(s, res)
}

// Resume goes on with a Deliver or Unmask that returned StalePort, when Shared is
// valid again: it raises the vCPU if the port is pending and not masked. It
// returns StalePort, StaleVCPU, NotPending (the guest has taken the event), Masked
// (the guest will unmask the port, and find it pending), Pending or Raised.
func (r *Reader) Resume(s *Signal) Result {
	r.owner.check()
	var res Result
	if r.lock == nil {
		res = resume(r.slot, s)
	} else {
		r.lock.enter(s.Shared, s.VCPU)
		res = resume(r.slot, s)
		r.lock.exit(s.Shared, s.VCPU)
	}
	return r.raised(s, res)
}

// Raise does the vCPU's part alone: what is owed after StaleVCPU. It returns
// StaleVCPU, Pending or Raised. It sets the upcall byte even if the selector bit
// is set already, because the signal that it finishes may have set it and got no
// further; a guest takes an upcall without an event for nothing.
func (r *Reader) Raise(s *Signal) Result {
	r.owner.check()
	var res Result
	if r.lock == nil {
		res = raise(r.slot, s)
	} else {
		r.lock.enter(s.VCPU, nil)
		res = raise(r.slot, s)
		r.lock.exit(s.VCPU, nil)
	}
	return r.raised(s, res)
}

// written marks what a signal has written from its beginning.
func (r *Reader) written(s *Signal, res Result) Result {
	if res != Stale && res != Coalesced && r.set.tracking.Load() {
		r.set.mark(s.Shared)
		r.raised(s, res)
	}
	return res
}

// raised marks what a signal has written for the vCPU. If StaleVCPU stands for a
// selector bit that was set, whoever withdrew the mapping marks it.
func (r *Reader) raised(s *Signal, res Result) Result {
	if res == Pending || res == Raised {
		r.set.markDirty(s.VCPU)
	}
	return res
}
