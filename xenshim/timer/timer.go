// SPDX-License-Identifier: Apache-2.0

package timer

import (
	"sync"

	"xenvmm/xenshim/abi"
)

// Alarm wakes the caller of Expired. Arm replaces the vCPU's earlier deadline;
// one that has passed already must ring at once. Ringing early, late or
// needlessly is allowed. Deadlines are absolute, in nanoseconds of that vCPU's
// clock.
type Alarm interface {
	Arm(vcpu int, deadline uint64)
	Disarm(vcpu int)
}

// Clock is the system time in nanoseconds that a vCPU sees. Those of two vCPUs
// may differ, where the host's time stamp counter cannot be trusted.
type Clock interface {
	GuestTime(vcpu int) uint64
}

// Timers holds the timers of all vCPUs of one domain.
type Timers struct {
	alarm Alarm
	clock Clock
	fire  func(vcpu int)
	vcpus []vcpu
}

// vcpu is one vCPU's pair of timers.
type vcpu struct {
	mu      sync.Mutex
	oneShot oneShot
	tick    periodic
	ringing bool // the alarm is armed
}

// New returns stopped timers for n vCPUs. fire sends VIRQ_TIMER to a vCPU; see
// the package documentation for what it may do.
func New(n int, a Alarm, c Clock, fire func(vcpu int)) *Timers {
	return &Timers{alarm: a, clock: c, fire: fire, vcpus: make([]vcpu, n)}
}

// locked runs f under the lock of vCPU id and then settles: fires what is due
// and leaves the alarm at the next deadline. ENOENT names a vCPU that does not
// exist.
func (t *Timers) locked(id int, f func(v *vcpu, now uint64)) abi.Errno {
	if id < 0 || id >= len(t.vcpus) {
		return abi.ENOENT
	}
	v := &t.vcpus[id]
	v.mu.Lock()
	defer v.mu.Unlock()
	now := t.clock.GuestTime(id)
	f(v, now)
	t.settle(id, v, now)
	return abi.OK
}

// settle fires once if either timer is due at now, and arms or disarms the
// alarm. Both timers feed the same event channel, where a second event on top
// of a pending one is invisible, so two that are due together are one.
func (t *Timers) settle(id int, v *vcpu, now uint64) {
	due := v.oneShot.take(now)
	if v.tick.take(now) {
		due = true
	}
	next, any := v.oneShot.next()
	if tick, ok := v.tick.next(); ok && (!any || tick < next) {
		next, any = tick, true
	}
	switch {
	case any:
		t.alarm.Arm(id, next)
	case v.ringing:
		t.alarm.Disarm(id)
	}
	v.ringing = any
	if due {
		t.fire(id)
	}
}

// Expired is to be called when the alarm of a vCPU rang. It fires what is due
// and arms the alarm again for what is left; a needless call does no harm.
func (t *Timers) Expired(id int) {
	t.locked(id, func(*vcpu, uint64) {})
}

// Reset stops every timer, as a soft reset of the domain does.
func (t *Timers) Reset() {
	for id := range t.vcpus {
		t.locked(id, func(v *vcpu, _ uint64) {
			v.oneShot = oneShot{}
			v.tick = periodic{}
		})
	}
}
