// SPDX-License-Identifier: Apache-2.0

package timer

import (
	"sync"
	"sync/atomic"
)

// fakeClock is a clock that the test moves.
type fakeClock struct{ ns atomic.Uint64 }

func (c *fakeClock) GuestTime(int) uint64 { return c.ns.Load() }

// fakeAlarm remembers what is armed; the test lets it ring.
type fakeAlarm struct {
	mu      sync.Mutex
	armed   map[int]uint64
	arms    int
	disarms int
}

func newFakeAlarm() *fakeAlarm { return &fakeAlarm{armed: map[int]uint64{}} }

func (a *fakeAlarm) Arm(vcpu int, deadline uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.armed[vcpu] = deadline
	a.arms++
}

func (a *fakeAlarm) Disarm(vcpu int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.armed, vcpu)
	a.disarms++
}

func (a *fakeAlarm) at(vcpu int) (uint64, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	d, ok := a.armed[vcpu]
	return d, ok
}

// rig is a set of timers with everything around them faked.
type rig struct {
	*Timers
	clock *fakeClock
	alarm *fakeAlarm
	fired []atomic.Int64
}

func newRig(n int) *rig {
	r := &rig{clock: &fakeClock{}, alarm: newFakeAlarm(), fired: make([]atomic.Int64, n)}
	r.Timers = New(n, r.alarm, r.clock, func(vcpu int) { r.fired[vcpu].Add(1) })
	return r
}

// advance moves the clock to ns, letting alarms ring exactly when due.
func (r *rig) advance(ns uint64) {
	for {
		vcpu, first := -1, ns
		for id := range r.vcpus {
			if d, ok := r.alarm.at(id); ok && d <= first {
				vcpu, first = id, d
			}
		}
		if vcpu < 0 {
			r.clock.ns.Store(ns)
			return
		}
		if now := r.clock.ns.Load(); first > now {
			r.clock.ns.Store(first)
		}
		r.Expired(vcpu)
	}
}
