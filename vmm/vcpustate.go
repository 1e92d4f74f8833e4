// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"xenvmm/vmm/boot"
	"xenvmm/vmm/kvm"
	"xenvmm/vmm/vcpu"
	"xenvmm/xenshim"
)

// segment builds a KVM segment from a VCPUOP_initialise one, whose access
// rights are those of a descriptor with bits 8..11 of the limit's byte moved
// down (public/hvm/hvm_vcpu.h).
func segment(s xenshim.Segment, selector uint16) kvm.Segment {
	ar := uint8(s.AR)
	k := kvm.Segment{
		Base: s.Base, Limit: s.Limit, Selector: selector,
		Typ: ar & 0xf, S: ar >> 4 & 1, DPL: ar >> 5 & 3, Present: ar >> 7 & 1,
		AVL: uint8(s.AR >> 8 & 1), L: uint8(s.AR >> 9 & 1), DB: uint8(s.AR >> 10 & 1), G: uint8(s.AR >> 11 & 1),
	}
	if k.Present == 0 {
		k.Unusable = 1
	}
	return k
}

// loadContext puts a vCPU into the state of a VCPUOP_initialise. What the
// structure does not hold is as after reset.
func loadContext(k vcpu.KVM, c *xenshim.VCPUContext) error {
	var s kvm.Sregs
	if err := k.Sregs(&s); err != nil {
		return err
	}
	s.CS, s.DS, s.ES, s.SS, s.TR = segment(c.CS, 0), segment(c.DS, 0), segment(c.ES, 0), segment(c.SS, 0), segment(c.TR, 0)
	data := segment(xenshim.Segment{Limit: 0xffff, AR: 0x93}, 0)
	s.FS, s.GS = data, data
	s.LDT = segment(xenshim.Segment{Limit: 0xffff, AR: 0x82}, 0)
	s.GDT, s.IDT = kvm.Descriptor{}, kvm.Descriptor{Limit: 0xffff}
	s.CR0, s.CR2, s.CR3, s.CR4, s.EFER = c.CR0, 0, c.CR3, c.CR4, c.EFER
	s.InterruptBitmap = [4]uint64{}
	if err := k.SetSregs(&s); err != nil {
		return err
	}
	return k.SetRegs(&kvm.Regs{
		RAX: c.RAX, RCX: c.RCX, RDX: c.RDX, RBX: c.RBX, RSP: c.RSP, RBP: c.RBP, RSI: c.RSI, RDI: c.RDI,
		RIP: c.RIP, RFLAGS: c.RFLAGS,
	})
}

func bootSegment(s boot.SegmentRegister) kvm.Segment {
	flag := func(b bool) uint8 {
		if b {
			return 1
		}
		return 0
	}
	return kvm.Segment{
		Base: s.Base, Limit: s.Limit, Selector: s.Selector, Typ: s.Type, DPL: s.DPL,
		Present: flag(s.Present), S: flag(!s.System), DB: flag(s.Big), L: flag(s.Long), G: flag(s.Granular), Unusable: flag(s.Unusable),
	}
}

// loadEntry puts the first vCPU at a kernel's entry point.
func loadEntry(k vcpu.KVM, e boot.EntryState) error {
	var s kvm.Sregs
	if err := k.Sregs(&s); err != nil {
		return err
	}
	s.CS, s.DS, s.ES, s.FS, s.GS, s.SS = bootSegment(e.CS), bootSegment(e.DS), bootSegment(e.ES), bootSegment(e.FS), bootSegment(e.GS), bootSegment(e.SS)
	s.TR, s.LDT = bootSegment(e.TR), bootSegment(e.LDT)
	s.GDT, s.IDT = kvm.Descriptor{Limit: e.GDTLimit}, kvm.Descriptor{Limit: e.IDTLimit}
	s.CR0, s.CR3, s.CR4, s.EFER = e.CR0, e.CR3, e.CR4, e.EFER
	if err := k.SetSregs(&s); err != nil {
		return err
	}
	if err := loadMSRs(k, e); err != nil {
		return err
	}
	return k.SetRegs(&kvm.Regs{RIP: e.RIP, RBX: e.RBX, RFLAGS: e.RFLAGS})
}

// loadMSRs sets the MSRs that a kernel finds set at its entry.
func loadMSRs(k vcpu.KVM, e boot.EntryState) error {
	msrs := make([]kvm.MSREntry, len(e.MSRs))
	for i, m := range e.MSRs {
		msrs[i] = kvm.MSREntry{Index: m.Index, Data: m.Value}
	}
	return k.SetMSRs(msrs)
}
