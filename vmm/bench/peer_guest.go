// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/binary"

	"xenvmm/vmm/kvm"
)

// The peer benchmark's guest, in physical memory: tables, code and counts in the
// first 64 KiB, the pages that events are written to in a slot of their own.
const (
	peerRAM    = 64 << 10
	peerPML4   = 0x1000
	peerPDPT   = 0x2000
	peerPD     = 0x3000
	peerGDT    = 0x4000
	peerIDT    = 0x5000
	peerCode   = 0x6000
	peerISR    = 0x7000
	peerStack  = 0xa000 // downwards
	peerCounts = 0xb000

	peerShared  = 1 << 20               // shared_info
	peerInfo    = peerShared + pageSize // vcpu_info
	peerPages   = 2
	peerVector  = 0x41
	peerPending = 0x800 // of evtchn_pending in a 64-bit shared_info

	// The two ports are in words of their own, which the guest looks at if their
	// bit in the selector is set.
	peerOurWord    = 0
	peerKernelWord = 9
	peerKernelPort = peerKernelWord*64 + 5

	// Places of the counts, a cache line each: events taken at either port, and
	// upcalls.
	peerOurCount, peerKernelCount, peerUpcalls = peerCounts, peerCounts + 64, peerCounts + 128
)

// peerProgram enables the local APIC and sleeps between upcalls.
var peerProgram = []byte{
	0xb9, 0x0f, 0x08, 0x00, 0x00, // mov $0x80f,%ecx (the spurious vector's MSR)
	0xb8, 0xff, 0x01, 0x00, 0x00, // mov $0x1ff,%eax
	0x31, 0xd2, // xor %edx,%edx
	0x0f, 0x30, // wrmsr
	0xfb,       // sti
	0xf4,       // 1: hlt
	0xeb, 0xfd, // jmp 1b
}

// peerHandler takes events as a guest does: the upcall flag, the selector, the
// words that this names. RBX is the vcpu_info, RSI evtchn_pending, RDI the
// counts.
var peerHandler = []byte{
	0x50, 0x51, 0x52, // push %rax, %rcx, %rdx
	0x31, 0xc0, // xor %eax,%eax
	0x86, 0x03, // xchg %al,(%rbx)
	0x31, 0xc9, // xor %ecx,%ecx
	0x48, 0x87, 0x4b, 0x08, // xchg %rcx,8(%rbx)
	0x48, 0x0f, 0xba, 0xe1, peerOurWord, // bt $word,%rcx
	0x73, 0x0d, // jnc 1f
	0x31, 0xc0, // xor %eax,%eax
	0x48, 0x87, 0x06, // xchg %rax,(%rsi)
	0xf3, 0x48, 0x0f, 0xb8, 0xc0, // popcnt %rax,%rax
	0x48, 0x01, 0x07, // add %rax,(%rdi)
	0x48, 0x0f, 0xba, 0xe1, peerKernelWord, // 1: bt $word,%rcx
	0x73, 0x0f, // jnc 2f
	0x31, 0xc0, // xor %eax,%eax
	0x48, 0x87, 0x46, 8 * peerKernelWord, // xchg %rax,72(%rsi)
	0xf3, 0x48, 0x0f, 0xb8, 0xc0, // popcnt %rax,%rax
	0x48, 0x01, 0x47, peerKernelCount - peerCounts, // add %rax,64(%rdi)
	0x48, 0xff, 0x87, peerUpcalls - peerCounts, 0x00, 0x00, 0x00, // 2: incq 128(%rdi)
	0xb9, 0x0b, 0x08, 0x00, 0x00, // mov $0x80b,%ecx (the EOI's MSR)
	0x31, 0xc0, // xor %eax,%eax
	0x31, 0xd2, // xor %edx,%edx
	0x0f, 0x30, // wrmsr
	0x5a, 0x59, 0x58, // pop %rdx, %rcx, %rax
	0x48, 0xcf, // iretq
}

// peerBoot writes the guest and sets the vCPU up to run it, in 64-bit mode with
// the first 2 MiB mapped one to one. Only the upcall's vector has a handler;
// anything else that the vCPU meets is a triple fault.
func peerBoot(cpu *kvm.VCPU, ram []byte) error {
	le := binary.LittleEndian
	for at, v := range map[int]uint64{
		peerPML4: peerPDPT | 3, peerPDPT: peerPD | 3, peerPD: 0x83,
		peerGDT + 8: 0x00af9b000000ffff, peerGDT + 16: 0x00cf93000000ffff,
		peerIDT + 16*peerVector: peerISR&0xffff | 8<<16 | 0x8e00<<32,
	} {
		le.PutUint64(ram[at:], v)
	}
	copy(ram[peerCode:], peerProgram)
	copy(ram[peerISR:], peerHandler)
	var s kvm.Sregs
	if err := cpu.Sregs(&s); err != nil {
		return err
	}
	s.CR0, s.CR3, s.CR4, s.EFER = 0x80050033, peerPML4, 0x20, 0x500
	s.CS = kvm.Segment{Limit: 0xffffffff, Selector: 8, Typ: 11, Present: 1, S: 1, L: 1, G: 1}
	s.SS = kvm.Segment{Limit: 0xffffffff, Selector: 16, Typ: 3, Present: 1, S: 1, DB: 1, G: 1}
	s.DS, s.ES, s.FS, s.GS = s.SS, s.SS, s.SS, s.SS
	s.GDT, s.IDT = kvm.Descriptor{Base: peerGDT, Limit: 23}, kvm.Descriptor{Base: peerIDT, Limit: 4095}
	s.ApicBase |= 3 << 10 // enabled, x2APIC
	if err := cpu.SetSregs(&s); err != nil {
		return err
	}
	return cpu.SetRegs(&kvm.Regs{RIP: peerCode, RSP: peerStack, RFLAGS: 2, RBX: peerInfo, RSI: peerShared + peerPending, RDI: peerCounts})
}
