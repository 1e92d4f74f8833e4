// SPDX-License-Identifier: Apache-2.0

package kvm

import gokvm "github.com/bobuhiro11/gokvm/kvm"

// Struct types whose layout gokvm has right (checked by the ABI test).
type (
	// Regs are the general registers, RIP and RFLAGS (struct kvm_regs, 144 bytes).
	Regs = gokvm.Regs
	// Sregs are segment, descriptor table and control registers (struct kvm_sregs, 312 bytes).
	Sregs = gokvm.Sregs
	// Segment is one segment register with its hidden part (struct kvm_segment).
	Segment = gokvm.Segment
	// Descriptor is GDTR or IDTR (struct kvm_dtable).
	Descriptor = gokvm.Descriptor
	// CPUIDEntry is one CPUID leaf (struct kvm_cpuid_entry2). Set
	// CPUIDSignificantIndex in Flags when Index matters.
	CPUIDEntry = gokvm.CPUIDEntry2
	// MSREntry is an MSR index with its value (struct kvm_msr_entry).
	MSREntry = gokvm.MSREntry
	// LAPICState is the local APIC's register page, 1 KiB (struct kvm_lapic_state):
	// register r of the SDM is the little-endian word at Regs[r].
	LAPICState = gokvm.LAPICState
	// VCPUEvents are pending and injected exceptions, interrupts and NMIs
	// (struct kvm_vcpu_events, 64 bytes).
	VCPUEvents = gokvm.VCPUEvents
	// DebugRegs are DR0-3, DR6, DR7 (struct kvm_debugregs).
	DebugRegs = gokvm.DebugRegs
	// XCRS are the extended control registers (struct kvm_xcrs).
	XCRS = gokvm.XCRS
	// ClockData is the argument of GetClock and SetClock (struct kvm_clock_data):
	// Clock and Realtime in ns, HostTSC in ticks.
	ClockData = gokvm.ClockData
	// IRQChipState is the state of one in-kernel PIC or IOAPIC (struct kvm_irqchip).
	IRQChipState = gokvm.IRQChip
)

// CPUIDSignificantIndex in CPUIDEntry.Flags makes KVM compare ECX with Index.
const CPUIDSignificantIndex = 1 << 0

// MPState is a vCPU's multiprocessing state (KVM_MP_STATE_*).
type MPState uint32

const (
	MPRunnable      MPState = 0
	MPUninitialized MPState = 1 // waiting for INIT (an AP after reset)
	MPInitReceived  MPState = 2 // waiting for SIPI
	MPHalted        MPState = 3 // in HLT
	MPSIPIReceived  MPState = 4
)

// Flags of VCPUEvents: which optional fields SetEvents takes.
const (
	EventValidNMIPending  = 1 << 0
	EventValidSIPIVector  = 1 << 1
	EventValidShadow      = 1 << 2
	EventValidSMM         = 1 << 3
	EventValidPayload     = 1 << 4
	EventValidTripleFault = 1 << 5
)

// Interrupt shadow bits in VCPUEvents.I.Shadow.
const (
	ShadowMovSS = 1 << 0
	ShadowSTI   = 1 << 1
)

// Flags of ClockData.
const (
	ClockTSCStable = 1 << 1 // out: the clock is the same function of the TSC on all vCPUs
	ClockRealtime  = 1 << 2 // Realtime is valid (Linux 5.16)
	ClockHostTSC   = 1 << 3 // HostTSC is valid (Linux 5.16)
)

// FPU is the x87/SSE state of KVM_GET_FPU (struct kvm_fpu, 416 bytes). KVM
// neither reads nor writes its MXCSR field: use XSave for that register.
type FPU struct {
	FPR        [8][16]byte
	FCW, FSW   uint16
	FTWX       uint8
	_          uint8
	LastOpcode uint16
	LastIP     uint64
	LastDP     uint64
	XMM        [16][16]byte
	MXCSR      uint32
	_          uint32
}

// Translation is a guest-virtual to guest-physical lookup (struct kvm_translation).
type Translation struct {
	Linear    uint64 // in
	Physical  uint64
	Valid     uint8
	Writeable uint8
	User      uint8
	_         [5]uint8
}

// GuestDebug is the argument of SetGuestDebug (struct kvm_guest_debug).
type GuestDebug struct {
	Control uint32
	_       uint32
	Regs    [8]uint64 // DR0-3, 4 and 5 unused, DR6, DR7
}

// Control bits of GuestDebug.
const (
	DebugEnable     = 1 << 0
	DebugSingleStep = 1 << 1
	DebugSoftwareBP = 1 << 16
	DebugHardwareBP = 1 << 17
	DebugBlockIRQ   = 1 << 20
)

// Argument structs that stay inside the package.
type (
	userMemoryRegion struct {
		slot, flags      uint32
		gpa, size, hvaAt uint64
	}
	enableCap struct {
		cap, _ uint32 // second: flags, none defined
		args   [4]uint64
		_      [64]byte
	}
	irqLevel struct{ irq, level uint32 }
	irqFD    struct {
		fd, gsi, flags, resample uint32
		_                        [16]byte
	}
	ioEventFD struct {
		datamatch, addr uint64
		length          uint32
		fd              int32
		flags           uint32
		_               [36]byte
	}
	msi struct {
		addrLo, addrHi, data, flags, devid uint32
		_                                  [12]byte
	}
	pitConfig struct{ _ [16]uint32 } // flags first; none are used
	dirtyLog  struct {
		slot, _ uint32
		bitmap  uint64
	}
	msrFilterRange struct {
		flags, n, base, _ uint32
		bitmap            uint64
	}
	msrFilter struct {
		flags, _ uint32
		ranges   [MaxMSRRanges]msrFilterRange
	}
	xenHVMConfig struct {
		flags, msr     uint32
		blob32, blob64 uint64
		size32, size64 uint8
		_              [30]byte
	}
	xenAttr struct {
		typ uint16
		_   [3]uint16
		u   [64]byte
	}
	xenEvtchn  struct{ port, vcpu, priority uint32 }
	signalMask struct {
		length uint32
		set    [8]byte
	}
	createDevice struct{ typ, fd, _ uint32 } // third: flags
	deviceAttr   struct {
		_, group   uint32 // first: flags
		attr, addr uint64
	}
)
