// SPDX-License-Identifier: Apache-2.0

package kvmtest

import (
	"encoding/binary"

	"xenvmm/vmm/kvm"
)

// The test guest's layout in guest-physical memory: 64-bit mode with the first
// 4 GiB mapped one to one. Every interrupt does OUT to ISRPort and an EOI, every
// exception OUT to FaultPort. Addresses not named here are free.
const (
	MinRAM    = 8 << 20
	PML4      = 0x1000 // page tables up to 0x7000
	gdt       = 0x7000
	idt       = 0x8000
	isr       = 0x9000
	fault     = 0x9100
	Code      = 0x10000
	Stack     = 0x28000 // downwards
	Data      = 0x30000
	DonePort  = 0xf0
	ISRPort   = 0xf1
	FaultPort = 0xf2
)

// Boot64 writes the test guest's tables and program and sets the vCPU up to run
// it at CPL 0, with RAX 0x11 and RBX 0xd0000000, interrupts disabled.
func Boot64(cpu *kvm.VCPU, write func(p []byte, gpa uint64) error, program []byte) error {
	le := binary.LittleEndian
	low := make([]byte, Code)
	put := func(at, w uint64) { le.PutUint64(low[at:], w) }
	put(PML4, 0x2003)
	for i := range uint64(4) {
		put(0x2000+8*i, 0x3000+i<<12|3)
		for j := range uint64(512) {
			put(0x3000+i<<12+8*j, i<<30|j<<21|0x83)
		}
	}
	put(gdt+8, 0x00af9b000000ffff)
	put(gdt+16, 0x00cf93000000ffff)
	for v := range uint64(256) {
		target := uint64(isr)
		if v < 32 {
			target = fault
		}
		put(idt+16*v, target&0xffff|8<<16|0x8e00<<32|target>>16<<48)
	}
	// out %al,$ISRPort; push %rax; mov $0xfee000b0,%eax; movl $0,(%rax); pop %rax; iretq
	copy(low[isr:], []byte{0xe6, ISRPort, 0x50, 0xb8, 0xb0, 0x00, 0xe0, 0xfe, 0xc7, 0x00, 0, 0, 0, 0, 0x58, 0x48, 0xcf})
	copy(low[fault:], []byte{0xe6, FaultPort, 0xf4})
	if err := write(low, 0); err != nil {
		return err
	}
	if err := write(program, Code); err != nil {
		return err
	}

	var s kvm.Sregs
	if err := cpu.Sregs(&s); err != nil {
		return err
	}
	s.CR0, s.CR3, s.CR4, s.EFER = 0x80050033, PML4, 0x20, 0x500
	s.CS = kvm.Segment{Limit: 0xffffffff, Selector: 8, Typ: 11, Present: 1, S: 1, L: 1, G: 1}
	s.SS = kvm.Segment{Limit: 0xffffffff, Selector: 16, Typ: 3, Present: 1, S: 1, DB: 1, G: 1}
	s.DS, s.ES, s.FS, s.GS = s.SS, s.SS, s.SS, s.SS
	s.GDT, s.IDT = kvm.Descriptor{Base: gdt, Limit: 23}, kvm.Descriptor{Base: idt, Limit: 4095}
	if err := cpu.SetSregs(&s); err != nil {
		return err
	}
	return cpu.SetRegs(&kvm.Regs{RIP: Code, RSP: Stack, RFLAGS: 2, RAX: 0x11, RBX: 0xd0000000})
}
