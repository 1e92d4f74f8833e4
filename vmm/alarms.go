// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"errors"
	"fmt"

	"xenvmm/vmm/eventfd"
)

// alarms are one timer per vCPU on the waiters' threads, set in guest time.
type alarms struct {
	clock   *vcpuClocks
	timers  []*eventfd.Timer
	sources []*eventfd.Source[*delivery]
}

// newAlarms makes a timer for each of n vCPUs; ring is called on a waiter's
// thread when one expires. A timer further away than a day rings early.
func newAlarms(n int, c *vcpuClocks, waiters []*eventfd.Waiter[*delivery], ring func(vcpu int, d *delivery)) (*alarms, error) {
	a := &alarms{clock: c}
	for i := range n {
		t, err := eventfd.NewTimer()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("timer of vcpu %d: %w", i, err), a.Close())
		}
		a.timers = append(a.timers, t)
		s, err := waiters[i%len(waiters)].Add(t.FD(), eventfd.SinkFunc[*delivery](func(d *delivery, _ uint64) { ring(i, d) }))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("timer of vcpu %d: %w", i, err), a.Close())
		}
		a.sources = append(a.sources, s)
	}
	return a, nil
}

// Arm replaces a vCPU's deadline, in ns of its clock.
func (a *alarms) Arm(vcpu int, deadline uint64) {
	// It fails only after Close, when nobody waits for it.
	_ = a.timers[vcpu].Arm(a.clock.Until(vcpu, deadline))
}

// Disarm takes it away.
func (a *alarms) Disarm(vcpu int) { _ = a.timers[vcpu].Disarm() }

// Close ends all; ring is not called any more when it returns.
func (a *alarms) Close() error {
	var errs []error
	for _, s := range a.sources {
		s.Close()
	}
	for _, t := range a.timers {
		errs = append(errs, t.Close())
	}
	return errors.Join(errs...)
}
