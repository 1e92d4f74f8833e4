// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// Segment is a segment register as VCPUOP_initialise gives it. AR holds the
// access rights in VMCS order with bits 8..11 moved down: type 3:0, S 4, DPL
// 6:5, P 7, AVL 8, L 9, D/B 10, G 11. Limit is in bytes.
type Segment struct {
	Base  uint64
	Limit uint32
	AR    uint16
}

// Access right bits of Segment.AR.
const (
	segType    = 0xf
	segS       = 1 << 4
	segDPL     = 3 << 5
	segP       = 1 << 7
	segG       = 1 << 11
	segCode    = 0x8 // type bit: code segment
	segRW      = 0x2 // type bit: readable code, writable data
	segTSSBusy = 0xb
)

// VCPUContext is the start state of a vCPU (struct vcpu_hvm_context,
// public/hvm/hvm_vcpu.h), checked. FS, GS, GDT, IDT and LDT are as after reset.
type VCPUContext struct {
	RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI uint64
	RIP, RFLAGS                            uint64
	CR0, CR3, CR4, EFER                    uint64
	CS, DS, SS, ES, TR                     Segment
}

// Bits a start state may set. What of these the processor lacks is for the
// platform to refuse. VMX, SMX and the bits above PKS are not for guests here.
const (
	eferAllowed  = eferSCE | eferLME | eferLMA | eferNXE | eferFFXSR
	cr4Allowed   = 0x01ff_1fff
	rflagsKept   = 0x003f_7fd5
	rflagsAlways = 1 << 1
)

// decodeVCPUContext reads and checks a start state under Xen's rules.
func decodeVCPUContext(p []byte) (*VCPUContext, abi.Errno) {
	if u32(p, abi.VCPUContextPad) != 0 {
		return nil, abi.EINVAL
	}
	var x *VCPUContext
	var e abi.Errno
	regs := p[abi.VCPUContextRegs:]
	switch u32(p, abi.VCPUContextMode) {
	case abi.VCPUHVMMode32B:
		x, e = decode32(regs)
	case abi.VCPUHVMMode64B:
		x, e = decode64(regs)
	default:
		return nil, abi.EINVAL
	}
	if e != abi.OK {
		return nil, e
	}
	if x.EFER&eferLME != 0 && x.CR0&cr0PG != 0 {
		x.EFER |= eferLMA
	}
	x.RFLAGS = x.RFLAGS&rflagsKept | rflagsAlways
	if x.CR4&^cr4Allowed != 0 || x.EFER&^eferAllowed != 0 {
		return nil, abi.EINVAL
	}
	return x, abi.OK
}

// decode64 reads struct vcpu_hvm_x86_64: flat 64-bit segments are implied.
func decode64(p []byte) (*VCPUContext, abi.Errno) {
	gpr := func(i uint32) uint64 { return u64(p, abi.VCPU64GPR+8*i) }
	x := &VCPUContext{
		RAX: gpr(0), RCX: gpr(1), RDX: gpr(2), RBX: gpr(3),
		RSP: gpr(4), RBP: gpr(5), RSI: gpr(6), RDI: gpr(7),
		RIP: u64(p, abi.VCPU64RIP), RFLAGS: u64(p, abi.VCPU64RFlags),
		CR0: u64(p, abi.VCPU64CR0), CR3: u64(p, abi.VCPU64CR3),
		CR4: u64(p, abi.VCPU64CR4), EFER: u64(p, abi.VCPU64EFER),
		CS: Segment{Limit: ^uint32(0), AR: 0xa9b},
		DS: Segment{Limit: ^uint32(0), AR: 0xc93},
		SS: Segment{Limit: ^uint32(0), AR: 0xc93},
		ES: Segment{Limit: ^uint32(0), AR: 0xc93},
		TR: Segment{Limit: 0x67, AR: 0x8b},
	}
	if !canonical(x.RIP, 4) || x.CR0&cr0PG == 0 || x.CR4&cr4PAE == 0 || x.EFER&eferLME == 0 {
		return nil, abi.EINVAL
	}
	return x, abi.OK
}

// decode32 reads struct vcpu_hvm_x86_32.
func decode32(p []byte) (*VCPUContext, abi.Errno) {
	for off := uint32(abi.VCPU32Pad2); off < abi.VCPU32Pad2+6; off += 2 {
		if u16(p, off) != 0 {
			return nil, abi.EINVAL
		}
	}
	if u32(p, abi.VCPU32Pad1) != 0 {
		return nil, abi.EINVAL
	}
	reg := func(off uint32) uint64 { return uint64(u32(p, off)) }
	seg := func(i uint32) Segment {
		s := Segment{
			Base: reg(abi.VCPU32Base + 4*i), Limit: u32(p, abi.VCPU32Limit+4*i),
			AR: u16(p, abi.VCPU32AR+2*i),
		}
		// A present segment is in use: accessed, or for a TSS busy.
		if s.AR&segP != 0 {
			if i == 4 {
				s.AR |= 2
			} else {
				s.AR |= 1
			}
		}
		return s
	}
	x := &VCPUContext{
		RAX: reg(0), RCX: reg(4), RDX: reg(8), RBX: reg(12),
		RSP: reg(16), RBP: reg(20), RSI: reg(24), RDI: reg(28),
		RIP: reg(abi.VCPU32EIP), RFLAGS: reg(abi.VCPU32EFlags),
		CR0: reg(abi.VCPU32CR0), CR3: reg(abi.VCPU32CR3),
		CR4: reg(abi.VCPU32CR4), EFER: u64(p, abi.VCPU32EFER),
		CS: seg(0), DS: seg(1), SS: seg(2), ES: seg(3), TR: seg(4),
	}
	return x, check32(x)
}

// check32 holds the checks on a 32-bit start state.
func check32(x *VCPUContext) abi.Errno {
	code := x.CS.AR&segCode != 0
	stack := x.SS.AR&segCode == 0 && x.SS.AR&segRW != 0
	switch {
	case !segmentOK(x.CS, false, true) || !code,
		!segmentOK(x.SS, false, true) || !stack,
		!segmentOK(x.DS, true, true) || !readable(x.DS),
		!segmentOK(x.ES, true, true) || !readable(x.ES),
		!segmentOK(x.TR, false, false) || x.TR.AR&segType != segTSSBusy:
		return abi.EINVAL
	}
	limit := x.CS.Limit
	if x.CS.AR&segG != 0 {
		limit = limit<<12 | 0xfff
	}
	dpl := x.CS.AR & segDPL
	switch {
	case x.RIP > uint64(limit),
		x.SS.AR&segDPL != dpl,
		x.DS.AR&segP != 0 && x.DS.AR&segDPL > dpl,
		x.ES.AR&segP != 0 && x.ES.AR&segDPL > dpl,
		x.EFER&eferLMA != 0 && x.EFER&eferLME == 0:
		return abi.EINVAL
	}
	return abi.OK
}

// segmentOK checks what is common to all segments: the top four bits clear,
// and either null (where that is allowed) or present and of the right class.
func segmentOK(s Segment, null, codeOrData bool) bool {
	if s.AR>>12 != 0 {
		return false
	}
	if s.AR == 0 {
		return null
	}
	return s.AR&segP != 0 && (s.AR&segS != 0) == codeOrData
}

// readable refuses a data segment register that holds execute-only code.
func readable(s Segment) bool { return s.AR&segCode == 0 || s.AR&segRW != 0 }
