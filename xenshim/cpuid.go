// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"math/bits"

	"xenvmm/xenshim/abi"
)

// CPUIDLeaf is one answer of the CPUID instruction. Indexed tells that the
// function has sub-leaves and Index matters.
type CPUIDLeaf struct {
	Function, Index    uint32
	Indexed            bool
	EAX, EBX, ECX, EDX uint32
}

// tscModeNeverEmulate in leaf 3 tells a guest that the TSC is the processor's
// own, so that Linux prefers it to the pvclock where the TSC is invariant.
const tscModeNeverEmulate = 2

// CPUID returns the Xen leaves of one vCPU (public/arch-x86/cpuid.h). They
// differ between vCPUs: leaf 4 holds the vCPU id, which must also be its ACPI
// processor id. APIC ids appear in no leaf.
func (d *Domain) CPUID(vcpu int) []CPUIDLeaf {
	const base = abi.CPUIDBase
	khz := d.cfg.Platform.TSCKHz()
	mul, shift := tscScale(khz)
	return []CPUIDLeaf{
		{Function: base, EAX: abi.CPUIDMaxLeaf, EBX: abi.CPUIDSignatureB, ECX: abi.CPUIDSignatureC, EDX: abi.CPUIDSignatureD},
		{Function: base + 1, EAX: d.cfg.Version},
		// One hypercall page, set by this MSR.
		{Function: base + 2, EAX: 1, EBX: abi.HypercallMSR},
		{Function: base + 3, Index: 0, Indexed: true, EBX: tscModeNeverEmulate, ECX: khz},
		// The offset of the guest's TSC is not known here and left 0.
		{Function: base + 3, Index: 1, Indexed: true, ECX: mul, EDX: shift},
		{Function: base + 3, Index: 2, Indexed: true, EAX: khz},
		{
			Function: base + 4, Index: 0, Indexed: true,
			EAX: abi.CPUIDHVMVCPUIDPresent | abi.CPUIDHVMDomIDPresent | abi.CPUIDHVMUpcallVector,
			EBX: uint32(vcpu), ECX: uint32(d.cfg.DomID),
		},
		{Function: base + 5, Index: 0, Indexed: true}, // for PV guests only
	}
}

// tscScale returns the factors that turn TSC ticks into ns: ((ticks << shift)
// * mul) >> 32, a negative shift going right (as int8 in the low byte). Zero
// kHz gives zero factors.
func tscScale(khz uint32) (mul, shift uint32) {
	if khz == 0 {
		return 0, 0
	}
	// ns per tick is 10^6/kHz. Scale so that the 32-bit fraction has its top
	// bit set: the most precision there is.
	s := 0
	num, den := uint64(1_000_000), uint64(khz)
	for num >= den {
		den <<= 1
		s++
	}
	for num < den/2 {
		num <<= 1
		s--
	}
	q, _ := bits.Div64(num, 0, den)
	return uint32(q >> 32), uint32(s)
}
