// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Every pair below copies a struct between KVM and *r. They wait for the vCPU's
// mutex, so call them on the vCPU's own thread or while it is not running.

// Regs reads the general registers.
func (c *VCPU) Regs(r *Regs) error { return transfer(c, "KVM_GET_REGS", reqGetRegs, r) }

// SetRegs writes the general registers.
func (c *VCPU) SetRegs(r *Regs) error { return transfer(c, "KVM_SET_REGS", reqSetRegs, r) }

// Sregs reads the system registers.
func (c *VCPU) Sregs(r *Sregs) error { return transfer(c, "KVM_GET_SREGS", reqGetSregs, r) }

// SetSregs writes the system registers.
func (c *VCPU) SetSregs(r *Sregs) error { return transfer(c, "KVM_SET_SREGS", reqSetSregs, r) }

// FPU reads x87 and SSE state.
func (c *VCPU) FPU(r *FPU) error { return transfer(c, "KVM_GET_FPU", reqGetFPU, r) }

// SetFPU writes x87 and SSE state.
func (c *VCPU) SetFPU(r *FPU) error { return transfer(c, "KVM_SET_FPU", reqSetFPU, r) }

// DebugRegs reads DR0-3, DR6 and DR7.
func (c *VCPU) DebugRegs(r *DebugRegs) error {
	return transfer(c, "KVM_GET_DEBUGREGS", reqGetDebugRegs, r)
}

// SetDebugRegs writes DR0-3, DR6 and DR7.
func (c *VCPU) SetDebugRegs(r *DebugRegs) error {
	return transfer(c, "KVM_SET_DEBUGREGS", reqSetDebugRegs, r)
}

// XCRS reads the extended control registers.
func (c *VCPU) XCRS(r *XCRS) error { return transfer(c, "KVM_GET_XCRS", reqGetXCRS, r) }

// SetXCRS writes the extended control registers.
func (c *VCPU) SetXCRS(r *XCRS) error { return transfer(c, "KVM_SET_XCRS", reqSetXCRS, r) }

// LAPIC reads the in-kernel local APIC.
func (c *VCPU) LAPIC(s *LAPICState) error { return transfer(c, "KVM_GET_LAPIC", reqGetLAPIC, s) }

// SetLAPIC writes the in-kernel local APIC.
func (c *VCPU) SetLAPIC(s *LAPICState) error { return transfer(c, "KVM_SET_LAPIC", reqSetLAPIC, s) }

// Events reads pending and injected events.
func (c *VCPU) Events(e *VCPUEvents) error {
	return transfer(c, "KVM_GET_VCPU_EVENTS", reqGetVCPUEvents, e)
}

// SetEvents writes them; Flags (EventValid*) choose the optional fields.
func (c *VCPU) SetEvents(e *VCPUEvents) error {
	return transfer(c, "KVM_SET_VCPU_EVENTS", reqSetVCPUEvents, e)
}

// MPState reads the multiprocessing state.
func (c *VCPU) MPState() (MPState, error) {
	var s MPState
	err := transfer(c, "KVM_GET_MP_STATE", reqGetMPState, &s)
	return s, err
}

// SetMPState writes the multiprocessing state.
func (c *VCPU) SetMPState(s MPState) error { return transfer(c, "KVM_SET_MP_STATE", reqSetMPState, &s) }

// SetGuestDebug sets breakpoints and single stepping.
func (c *VCPU) SetGuestDebug(d *GuestDebug) error {
	return transfer(c, "KVM_SET_GUEST_DEBUG", reqSetGuestDebug, d)
}

// Translate walks the guest's page tables as the vCPU is now. ok is false when
// nothing is mapped at the linear address.
func (c *VCPU) Translate(linear uint64) (t Translation, ok bool, err error) {
	t.Linear = linear
	if err = transfer(c, "KVM_TRANSLATE", reqTranslate, &t); err != nil {
		return t, false, fmt.Errorf("address %#x: %w", linear, err)
	}
	return t, t.Valid != 0, nil
}

// transfer is one get or set of a fixed-size struct.
func transfer[T any](c *VCPU, op string, req uintptr, p *T) error {
	_, err := callStruct(&c.h, op, req, p)
	return err
}

// XSave reads the whole extended state into b: 4096 bytes, or what the VM's
// CheckExtension(CapXSave2) says if that is more.
func (c *VCPU) XSave(b []byte) error {
	req, op := reqGetXSave, "KVM_GET_XSAVE"
	if len(b) > sizeXSave {
		req, op = reqGetXSave2, "KVM_GET_XSAVE2"
	}
	return c.xsave(op, req, b)
}

// SetXSave writes it back; b as for XSave.
func (c *VCPU) SetXSave(b []byte) error { return c.xsave("KVM_SET_XSAVE", reqSetXSave, b) }

func (c *VCPU) xsave(op string, req uintptr, b []byte) error {
	if len(b) < sizeXSave {
		return c.h.failed(fmt.Sprintf("%s: buffer of %d bytes, need %d", op, len(b), sizeXSave), unix.EINVAL)
	}
	_, err := callBytes(&c.h, op, req, b)
	return err
}
