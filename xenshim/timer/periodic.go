// SPDX-License-Identifier: Apache-2.0

package timer

import "xenvmm/xenshim/abi"

// maxPeriod is the longest period Xen takes, chosen so that adding it to the
// time of day does not overflow.
const maxPeriod = uint64(1)<<62 - 1

// periodic is the timer behind VCPUOP_set_periodic_timer. Ticks are at base +
// k*period; due is the next one.
type periodic struct {
	period uint64 // 0: stopped
	due    uint64
}

func (p *periodic) next() (uint64, bool) { return p.due, p.period != 0 }

// take reports whether a tick is due at now, and moves on to the first tick of
// the grid that lies ahead: ticks that were missed become one.
func (p *periodic) take(now uint64) bool {
	if p.period == 0 || p.due > now {
		return false
	}
	p.due += ((now-p.due)/p.period + 1) * p.period
	return true
}

// SetPeriodic starts the periodic timer of a vCPU, in place of an earlier one;
// the first tick is one period from now. A period under 1 ms or over 2^62-1 ns
// is EINVAL and leaves the timer as it was (VCPUOP_set_periodic_timer, vcpu.h).
func (t *Timers) SetPeriodic(id int, periodNs uint64) abi.Errno {
	if id < 0 || id >= len(t.vcpus) {
		return abi.ENOENT
	}
	if periodNs < abi.PeriodicTimerMinNs || periodNs > maxPeriod {
		return abi.EINVAL
	}
	return t.locked(id, func(v *vcpu, now uint64) {
		v.tick = periodic{period: periodNs, due: now + periodNs}
	})
}

// StopPeriodic stops the periodic timer. One that is not running is success:
// Linux stops it at boot to learn whether vcpu_op timers exist at all.
func (t *Timers) StopPeriodic(id int) abi.Errno {
	return t.locked(id, func(v *vcpu, _ uint64) { v.tick = periodic{} })
}
