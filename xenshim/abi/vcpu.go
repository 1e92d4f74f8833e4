// SPDX-License-Identifier: Apache-2.0

package abi

// Runstate holds the byte offsets in struct vcpu_runstate_info
// (public/vcpu.h). State is 32 bits wide, EntryTime 64 bits, Time four 64-bit
// counters indexed by state. Times are nanoseconds.
type Runstate struct{ Size, State, EntryTime, Time uint32 }

// RunstateLayout returns the layout for w; a 32-bit guest aligns 64-bit
// integers to 4 bytes.
func RunstateLayout(w Width) Runstate {
	if w == Width32 {
		return Runstate{Size: 44, State: 0, EntryTime: 4, Time: 12}
	}
	return Runstate{Size: 48, State: 0, EntryTime: 8, Time: 16}
}

// RunstateSizeMax is the larger of the two sizes.
const RunstateSizeMax = 48

// SetSingleshotTimer holds the byte offsets in struct
// vcpu_set_singleshot_timer (public/vcpu.h).
type SetSingleshotTimer struct{ Size, Timeout, Flags uint32 }

// SetSingleshotTimerLayout returns the layout for w.
func SetSingleshotTimerLayout(w Width) SetSingleshotTimer {
	if w == Width32 {
		return SetSingleshotTimer{Size: 12, Timeout: 0, Flags: 8}
	}
	return SetSingleshotTimer{Size: 16, Timeout: 0, Flags: 8}
}

// Sizes and offsets that do not depend on the width (public/vcpu.h).
const (
	PeriodicTimerSize    = 8  // vcpu_set_periodic_timer: period in ns
	RegisterVCPUInfoSize = 16 // vcpu_register_vcpu_info
	RegisterVCPUInfoMFN  = 0  // u64
	RegisterVCPUInfoOff  = 8  // u32
	MemoryAreaSize       = 8  // vcpu_register_*_memory_area: union of pointer and u64
	// PeriodicTimerMaxNs is the longest period accepted.
	PeriodicTimerMaxNs uint64 = 1 << 62
	// MemoryAreaUnmap is the physical address that drops an area.
	MemoryAreaUnmap = ^uint64(0)
)

// struct vcpu_hvm_context (public/hvm/hvm_vcpu.h): byte offsets. The union of
// register sets starts at VCPUContextRegs in both forms.
const (
	VCPUContextSize = 128
	VCPUContextMode = 0 // u32
	VCPUContextPad  = 4 // u32, must be 0
	VCPUContextRegs = 8
)

// struct vcpu_hvm_x86_32: byte offsets from the start of the register set.
// The eight general registers are 32 bits wide, in the order ax cx dx bx sp bp si di.
const (
	VCPU32GPR    = 0
	VCPU32EIP    = 32
	VCPU32EFlags = 36
	VCPU32CR0    = 40
	VCPU32CR3    = 44
	VCPU32CR4    = 48
	VCPU32Pad1   = 52
	VCPU32EFER   = 56  // u64
	VCPU32Base   = 64  // five u32: cs ds ss es tr
	VCPU32Limit  = 84  // five u32
	VCPU32AR     = 104 // five u16
	VCPU32Pad2   = 114 // three u16, must be 0
)

// struct vcpu_hvm_x86_64: byte offsets from the start of the register set, all
// 64 bits wide. General registers come in the order ax cx dx bx sp bp si di.
const (
	VCPU64GPR    = 0
	VCPU64RIP    = 64
	VCPU64RFlags = 72
	VCPU64CR0    = 80
	VCPU64CR3    = 88
	VCPU64CR4    = 96
	VCPU64EFER   = 104
)
