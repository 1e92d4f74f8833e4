// SPDX-License-Identifier: Apache-2.0

package timer

import "xenvmm/xenshim/abi"

const (
	// farAhead is the distance from which set_timer_op takes a deadline for
	// the result of an overflow in the guest, about 13 days.
	farAhead = uint64(1) << 50
	// farDelay is when such a timer fires instead.
	farDelay = uint64(100_000_000)
)

// oneShot is the timer behind VCPUOP_set_singleshot_timer and set_timer_op.
type oneShot struct {
	armed    bool
	deadline uint64
}

func (o *oneShot) next() (uint64, bool) { return o.deadline, o.armed }

// take stops the timer and reports true if it is due at now. Times are signed
// in Xen: a deadline with the top bit set lies in the past.
func (o *oneShot) take(now uint64) bool {
	if !o.armed || int64(o.deadline) > int64(now) {
		return false
	}
	o.armed = false
	return true
}

// SetSingleshot arms the one-shot timer of a vCPU for the absolute guest time
// absNs, in place of an earlier one. If that has passed, the event is sent
// before SetSingleshot returns, and that is success even where the guest asked
// for an error by VCPU_SSHOTTMR_future: that flag is deprecated and ignored by
// Xen, and Linux dies of the error (VCPUOP_set_singleshot_timer, vcpu.h).
func (t *Timers) SetSingleshot(id int, absNs uint64) abi.Errno {
	return t.locked(id, func(v *vcpu, _ uint64) {
		v.oneShot = oneShot{armed: true, deadline: absNs}
	})
}

// StopSingleshot stops the one-shot timer. One that is not running is success.
func (t *Timers) StopSingleshot(id int) abi.Errno {
	return t.locked(id, func(v *vcpu, _ uint64) { v.oneShot = oneShot{} })
}

// SetTimerOp is the hypercall set_timer_op for a vCPU: like SetSingleshot, on
// the same timer, but 0 stops it, and a deadline that looks like an overflow
// in the guest (negative, or 2^50 ns and more ahead) fires in 100 ms.
func (t *Timers) SetTimerOp(id int, absNs uint64) abi.Errno {
	return t.locked(id, func(v *vcpu, now uint64) {
		switch {
		case absNs == 0:
			v.oneShot = oneShot{}
			return
		case int64(absNs) < 0, absNs > now && absNs-now >= farAhead:
			absNs = now + farDelay
		}
		v.oneShot = oneShot{armed: true, deadline: absNs}
	})
}
