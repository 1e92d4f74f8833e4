// SPDX-License-Identifier: Apache-2.0

package kvm

import "errors"

// ErrMalformed marks an exit whose description does not fit its own kvm_run
// mapping. The kernel never makes one; it would mean memory corruption.
var ErrMalformed = errors.New("kvm: malformed exit")

// Exit is a decoded view of the kvm_run page after Run. It is reused by every
// call of VCPU.Exit, and only the member that belongs to Reason is meaningful.
// Slices in it are windows into the page: they are valid until the next Run,
// and writing to them is how an input exit is answered.
type Exit struct {
	Reason ExitReason
	Err    error // ErrMalformed or nil

	IfFlag            bool // the guest's RFLAGS.IF, if no irqchip is in the kernel
	ReadyForInterrupt bool // an Interrupt could be injected now
	SMM               bool
	BusLock           bool
	CR8, APICBase     uint64

	IO            IOExit
	MMIO          MMIOExit
	MSR           MSRAccess
	Hypercall     HypercallExit
	Xen           XenExit
	FailEntry     FailEntry
	Internal      InternalError
	SystemEvent   SystemEvent
	Debug         DebugExit
	Exception     ExceptionExit
	TPR           TPRAccess
	MemoryFault   MemoryFault
	HardwareExit  uint64 // ExitUnknown: the processor's own exit reason
	EOIVector     uint8  // ExitIOAPICEOI
	NotifyFlags   uint32 // ExitNotify; bit 0: the vCPU's context is lost
	HyperVType    uint32 // ExitHyperV
	TDXNr         uint64 // ExitTDX, first word
	undecodedTail []byte
}

// IOExit is a port access, string instructions with all their repetitions.
type IOExit struct {
	Out   bool
	Port  uint16
	Size  uint8  // 1, 2 or 4 bytes per access
	Count uint32 // accesses
	Data  []byte // Size*Count bytes: read them if Out, fill them if not
}

// MMIOExit is an access to guest-physical memory without a slot.
type MMIOExit struct {
	GPA   uint64
	Data  []byte // 8 bytes, Len of them used: read them if Write, fill them if not
	Len   uint32 // 1 to 8
	Write bool
}

// MSRAccess is a RDMSR (Write false) or WRMSR that KVM left to user space.
type MSRAccess struct {
	Index  uint32
	Data   uint64 // the value written
	Reason MSRExit
	Write  bool
	answer []byte
}

// Complete answers the access: data is what RDMSR returns; fault makes the
// instruction raise #GP instead. Without an answer a read returns 0.
func (m *MSRAccess) Complete(data uint64, fault bool) {
	if len(m.answer) < msrSize {
		return
	}
	m.answer[offMSRError] = 0
	if fault {
		m.answer[offMSRError] = 1
	}
	if !m.Write {
		le.PutUint64(m.answer[offMSRData:], data)
	}
}

// HypercallExit is a KVM hypercall that the VM asked to see (CapExitHypercall).
type HypercallExit struct {
	Nr       uint64
	Args     [6]uint64
	LongMode bool
	answer   []byte
}

// Complete sets what the hypercall returns to the guest.
func (h *HypercallExit) Complete(ret uint64) {
	if len(h.answer) >= 8 {
		le.PutUint64(h.answer, ret)
	}
}

// XenExitHcall is the only XenExit.Type so far.
const XenExitHcall = 1

// XenExit is a Xen hypercall intercepted by XenInterceptHcall.
type XenExit struct {
	Type     uint32
	LongMode bool
	CPL      uint32
	Input    uint64 // hypercall number
	Params   [6]uint64
	answer   []byte
}

// Complete sets the hypercall's result, which KVM puts into RAX.
func (x *XenExit) Complete(result uint64) {
	if len(x.answer) >= 8 {
		le.PutUint64(x.answer, result)
	}
}

// FailEntry says why the processor refused to enter the guest.
type FailEntry struct {
	HardwareReason uint64
	CPU            uint32
}

// Sub-errors of ExitInternalError (KVM_INTERNAL_ERROR_*).
const (
	InternalEmulation      = 1
	InternalSimultaneousEx = 2
	InternalDeliveryEvent  = 3
	InternalUnexpectedExit = 4
)

// InternalError is a failure inside KVM. For InternalEmulation with bit 0 of
// Data[0] set, Data[1:] holds the instruction: a length byte and 15 bytes.
type InternalError struct {
	Suberror uint32
	N        uint32 // words of Data that are valid
	Data     [16]uint64
}

// Instruction is the instruction that KVM could not emulate, if it said so.
func (i *InternalError) Instruction(dst *[15]byte) []byte {
	if i.Suberror != InternalEmulation || i.N < 3 || i.Data[0]&1 == 0 {
		return nil
	}
	var raw [16]byte
	le.PutUint64(raw[:], i.Data[1])
	le.PutUint64(raw[8:], i.Data[2])
	copy(dst[:], raw[1:])
	return dst[:min(int(raw[0]), len(dst))]
}

// Types of SystemEvent (KVM_SYSTEM_EVENT_*).
const (
	SystemShutdown = 1
	SystemReset    = 2
	SystemCrash    = 3
	SystemWakeup   = 4
	SystemSuspend  = 5
	SystemSEVTerm  = 6
)

// SystemEvent is a request of the guest's firmware interface.
type SystemEvent struct {
	Type uint32
	N    uint32
	Data [16]uint64
}

// DebugExit is a breakpoint or single step (SetGuestDebug).
type DebugExit struct {
	Exception    uint32
	PC, DR6, DR7 uint64
}

// ExceptionExit is a guest exception KVM could not handle.
type ExceptionExit struct{ Vector, ErrorCode uint32 }

// TPRAccess is a trapped access to the task priority register.
type TPRAccess struct {
	RIP   uint64
	Write bool
}

// MemoryFault describes an access that failed for want of memory attributes or
// a host page (Linux 6.8).
type MemoryFault struct{ Flags, GPA, Size uint64 }

// Raw is the exit's 256-byte union as the kernel left it, for reasons that have
// no decoded form here and for dumps.
func (e *Exit) Raw() []byte { return e.undecodedTail }
