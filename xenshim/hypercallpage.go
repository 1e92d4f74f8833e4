// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// HypercallPort is the I/O port the stubs of a hypercall page write EAX to. A
// 32-bit OUT traps in every mode and leaves the registers as they are.
const HypercallPort = 0xfa

// hypercallPage builds the page a guest calls into: stub i loads EAX with i
// (clearing the upper half of RAX in 64-bit mode), traps, and returns; the rest
// of each 32-byte slot is int3. It traps by the instruction that trap gives for
// i, or by writing EAX to HypercallPort if there is none. The bytes mean the same
// in 32- and 64-bit code. The slot of iret, which an HVM guest has no use for, is
// UD2.
func hypercallPage(trap func(nr int) []byte) [abi.PageSize]byte {
	var p [abi.PageSize]byte
	for i := range p {
		p[i] = 0xcc
	}
	for i := range abi.HypercallPageStubs {
		s := p[i*abi.HypercallPageStubSize:][:abi.HypercallPageStubSize]
		if i == abi.HypercallIret {
			s[0], s[1] = 0x0f, 0x0b
			continue
		}
		insn := []byte{0xe7, HypercallPort} // out imm8, eax
		if trap != nil {
			if t := trap(i); len(t) > 0 {
				insn = t[:min(len(t), MaxHypercallTrap)]
			}
		}
		s[0] = 0xb8 // mov eax, imm32
		putU32(s, 1, uint32(i))
		n := 5 + copy(s[5:], insn)
		s[n] = 0xc3 // ret
	}
	return p
}

// WriteMSR handles a write to a Xen MSR; false means #GP. The one there is
// takes the gpa of the hypercall page, with the page's number in the low 12
// bits, which can only be 0. It also latches the domain's width from the mode
// s of the writer.
func (v *VCPU) WriteMSR(index uint32, value uint64, s *CPUState) bool {
	if index != abi.HypercallMSR || value&pageMask != 0 || value>>pageShift >= gfnLimit {
		return false
	}
	if r, _ := v.d.phys.find(value >> pageShift); r == nil {
		return false // code can only go to RAM
	}
	page := hypercallPage(v.d.cfg.HypercallTrap)
	copy(v.call.pageBuf[:], page[:])
	if v.d.cfg.Memory.WriteAt(v.call.pageBuf[:], value) != nil {
		return false
	}
	w := abi.Width32
	if s.long() {
		w = abi.Width64
	}
	v.d.latchWidth(w)
	return true
}

// ReadMSR handles a read of a Xen MSR; false means #GP. The hypercall page's
// address can't be read back: it reads as 0.
func (v *VCPU) ReadMSR(index uint32) (uint64, bool) {
	return 0, index == abi.HypercallMSR
}
