// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"sync/atomic"

	"xenvmm/vmm/kvm"
	"xenvmm/vmm/vcpu"
	"xenvmm/xenshim"
	"xenvmm/xenshim/abi"
)

// online knows which vCPUs have a state to run with (VCPUOP_initialise) and
// starts and stops them. A vCPU that is down waits in KVM for INIT and SIPI,
// so that a guest may start it either way.
type online struct {
	group       *vcpu.Group
	initialised []atomic.Bool
}

func newOnline(g *vcpu.Group) *online {
	o := &online{group: g, initialised: make([]atomic.Bool, g.Len())}
	o.initialised[0].Store(true)
	return o
}

// ran notes that a vCPU runs, however it was started.
func (o *online) ran(vcpu int) {
	if f := &o.initialised[vcpu]; !f.Load() {
		f.Store(true)
	}
}

func (o *online) initialise(id int, c *xenshim.VCPUContext) abi.Errno {
	if up, err := o.up(id); err != nil || up || o.initialised[id].Swap(true) {
		return abi.EEXIST
	}
	if err := o.group.Do(id, func(k vcpu.KVM) error { return loadContext(k, c) }); err != nil {
		o.initialised[id].Store(false)
		return abi.EINVAL
	}
	return abi.OK
}

func (o *online) start(id int) abi.Errno {
	if !o.initialised[id].Load() {
		return abi.EINVAL
	}
	err := o.group.Do(id, func(k vcpu.KVM) error {
		s, err := k.MPState()
		if err != nil || (s != kvm.MPUninitialized && s != kvm.MPInitReceived) {
			return err
		}
		return k.SetMPState(kvm.MPRunnable)
	})
	if err != nil {
		return abi.EINVAL
	}
	return abi.OK
}

func (o *online) stop(id int) abi.Errno {
	if o.group.Current() == id {
		return abi.OK // it parks itself when the hypercall ends
	}
	if err := o.group.Do(id, func(k vcpu.KVM) error { return k.SetMPState(kvm.MPUninitialized) }); err != nil {
		return abi.EINVAL
	}
	return abi.OK
}

// up asks KVM whether the vCPU has been started and not stopped.
func (o *online) up(id int) (up bool, err error) {
	err = o.group.Do(id, func(k vcpu.KVM) error {
		s, err := k.MPState()
		up = err == nil && s != kvm.MPUninitialized && s != kvm.MPInitReceived
		return err
	})
	return up, err
}

// reset takes every vCPU but self down, without a state.
func (o *online) reset(self int) {
	for i := range o.initialised {
		if i == self {
			continue
		}
		_ = o.stop(i)
		o.initialised[i].Store(false)
	}
}
