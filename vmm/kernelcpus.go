// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"sync/atomic"

	"xenvmm/vmm/kvm"
	"xenvmm/xenshim/abi"
)

// kernelCPU is what KVM is to know of one vCPU. Only a vCPU's own thread can tell
// it, as long as it runs, so a change is noted by whoever sees it, who then has
// that thread take it over.
type kernelCPU struct {
	home    uintptr // host address of its default vcpu_info, 0 if it has none
	want    atomic.Pointer[cpuPlace]
	told    atomic.Pointer[cpuPlace]
	changed atomic.Bool
}

// cpuPlace is where a vCPU's vcpu_info is: in shared_info (hva), or where the
// guest has registered one (gpa), or nowhere; and the vector, 0 if none.
type cpuPlace struct {
	hva    uintptr
	gpa    uint64
	vector uint8
}

const nowhere = kvm.XenNoGPA

func newKernelCPUs(n int, shared uintptr) []kernelCPU {
	cpus := make([]kernelCPU, n)
	for i := range cpus {
		if i < abi.SharedInfoVCPUs {
			cpus[i].home = shared + uintptr(i)*abi.VCPUInfoSize
		}
		cpus[i].told.Store(&cpuPlace{gpa: nowhere})
		cpus[i].want.Store(cpus[i].told.Load())
	}
	return cpus
}

// placed notes where every vcpu_info is now, and returns the vCPUs of which KVM
// does not know it.
func (k *kernelEvents) placed() (changed []int) {
	k.mu.Lock() // so that what is noted last is what is so last
	defer k.mu.Unlock()
	events := k.m.domain.Events()
	shared, mapped := k.m.sharedInfo.GFN(0)
	for v := range k.cpus {
		c := &k.cpus[v]
		want := cpuPlace{hva: c.home, gpa: nowhere, vector: uint8(k.m.vectors[v].Load())}
		if gpa, ok := events.VCPUInfoGPA(v); ok && !(mapped && c.home != 0 && gpa == shared*abi.PageSize+uint64(v)*abi.VCPUInfoSize) {
			want.hva, want.gpa = 0, gpa
		}
		if *c.want.Load() != want {
			c.want.Store(&want)
			c.changed.Store(true)
		}
		if c.changed.Load() {
			changed = append(changed, v)
		}
	}
	return changed
}

// apply tells KVM about a vCPU, on its thread or while it does not run. The vCPU
// then looks at all its ports, for events that were recorded in the old place.
func (k *kernelEvents) apply(v int) error {
	c := &k.cpus[v]
	if !c.changed.Load() || !c.changed.Swap(false) {
		return nil
	}
	told, want := c.told.Load(), c.want.Load()
	handle := k.m.kvms[v]
	if want.hva != told.hva || want.gpa != told.gpa {
		set := func() error { return handle.XenSetVCPUInfo(want.gpa) } // also nowhere
		if want.hva != 0 {
			set = func() error { return handle.XenSetVCPUInfoHVA(want.hva) }
		}
		if err := set(); err != nil {
			return err
		}
	}
	if want.vector != told.vector {
		if err := handle.XenSetVCPUUpcallVector(want.vector); err != nil {
			return err
		}
	}
	c.told.Store(want)
	k.m.domain.Events().LookAgain(v)
	return nil
}

// reaches tells whether KVM can interrupt a vCPU for an event.
func (k *kernelEvents) reaches(v int) bool {
	if v < 0 || v >= len(k.cpus) {
		return false
	}
	t := k.cpus[v].told.Load()
	return (t.hva != 0 || t.gpa != nowhere) && (t.vector != 0 || k.vector.Load() != 0)
}

// presents tells whether KVM looks at upcall_pending by itself whenever a vCPU is
// about to enter the guest, so that it needs no more than to come by.
func (k *kernelEvents) presents(v int) bool {
	return k != nil && k.vector.Load() != 0 && k.cpus[v].told.Load().vector == 0
}

// noWait bounds how long a vCPU may wait in SCHEDOP_poll, or in SCHEDOP_block
// with its interrupts off: KVM tells nobody here that it has set a bit. A guest
// has to expect both to return early.
const noWait = uint64(1e6) // ns

// boundWait is the time of vCPU v at which a wait that is to end at deadline, 0
// for never, is interrupted.
func (k *kernelEvents) boundWait(v int, deadline uint64) uint64 {
	if k == nil {
		return deadline
	}
	if at := k.m.clocks.Now(v) + noWait; deadline == 0 || at < deadline {
		return at
	}
	return deadline
}
