// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"sync/atomic"

	"xenvmm/vmm/kvm"
	"xenvmm/vmm/vcpu"
)

// systemTimes is where each vCPU's pvclock is to be, by kvm.MSRSystemTime: KVM's
// structure is the same as Xen's vcpu_time_info. Only a vCPU's own thread
// can tell KVM, so a change is noted here by any thread and taken over by that
// one before it enters the guest again.
type systemTimes struct {
	cpus []systemTime
	any  atomic.Int32 // how many changes are noted
}

type systemTime struct {
	value   atomic.Uint64 // what the MSR is to hold
	changed atomic.Bool
}

func newSystemTimes(n int) *systemTimes { return &systemTimes{cpus: make([]systemTime, n)} }

// set notes a change.
func (s *systemTimes) set(vcpu int, gpa uint64, enable bool) {
	c := &s.cpus[vcpu]
	v := uint64(0)
	if enable {
		v = gpa | 1
	}
	c.value.Store(v)
	s.again(vcpu)
}

// again has KVM told once more, who has forgotten.
func (s *systemTimes) again(vcpu int) {
	if !s.cpus[vcpu].changed.Swap(true) {
		s.any.Add(1)
	}
}

// apply takes over a vCPU's change, on its thread.
func (s *systemTimes) apply(id int, k vcpu.KVM) error {
	c := &s.cpus[id]
	if !c.changed.Load() || !c.changed.Swap(false) {
		return nil
	}
	s.any.Add(-1)
	return k.SetMSRs([]kvm.MSREntry{{Index: kvm.MSRSystemTime, Data: c.value.Load()}})
}

// others calls do for each vCPU but self whose change is noted.
func (s *systemTimes) others(self int, do func(vcpu int)) {
	if s.any.Load() == 0 {
		return
	}
	for i := range s.cpus {
		if i != self && s.cpus[i].changed.Load() {
			do(i)
		}
	}
}
