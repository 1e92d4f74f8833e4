// SPDX-License-Identifier: Apache-2.0

package vcpu

import "xenvmm/vmm/kvm"

const rflagsIF = 1 << 9

// CanInject tells whether the vCPU would take an external interrupt at the next
// entry. Only its own thread may ask.
func (v *VCPU) CanInject() bool {
	if v.kvm.RunRegs().RFLAGS&rflagsIF == 0 {
		return false
	}
	if s, err := v.kvm.MPState(); err != nil || (s != kvm.MPRunnable && s != kvm.MPHalted) {
		return false
	}
	var e kvm.VCPUEvents
	if err := v.kvm.Events(&e); err != nil {
		return false
	}
	return e.I.Inject == 0 && e.I.Shadow == 0 && e.N.Inject == 0 && e.E.Inject == 0 && e.E.Pending == 0
}

// Inject queues an external interrupt that bypasses the local APIC, and ends a
// HLT. Call it only when CanInject is true.
func (v *VCPU) Inject(vector uint8) error {
	var e kvm.VCPUEvents
	if err := v.kvm.Events(&e); err != nil {
		return err
	}
	e.I.Inject, e.I.Nr, e.I.Soft = 1, vector, 0
	e.Flags = 0 // leave NMI pending state, SIPI vector and SMM alone
	if err := v.kvm.SetEvents(&e); err != nil {
		return err
	}
	if s, err := v.kvm.MPState(); err != nil || s != kvm.MPHalted {
		return err
	}
	return v.kvm.SetMPState(kvm.MPRunnable)
}
