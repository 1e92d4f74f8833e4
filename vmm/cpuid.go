// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"math/bits"
	"slices"

	"xenvmm/vmm/kvm"
	"xenvmm/xenshim"
)

// CPUID functions this file changes (Intel SDM vol. 2 "CPUID", AMD APM vol. 3
// appendix E).
const (
	cpuidFeatures    = 0x1
	cpuidCaches      = 0x4
	cpuidTopology    = 0xb
	cpuidTopologyV2  = 0x1f
	cpuidHypervisors = 0x40000000 // up to 0x4fffffff
	cpuidAMDSize     = 0x80000008
	cpuidAMDTopology = 0x8000001e

	featTSCDeadline = 1 << 24 // leaf 1 ECX
	featHypervisor  = 1 << 31 // leaf 1 ECX
	featHTT         = 1 << 28 // leaf 1 EDX
)

// vcpuCPUID is what CPUID shows on one vCPU: what the host supports, with the
// topology of n cores in one package and the Xen leaves in the place of KVM's.
// The APIC id is the same wherever it is shown, and so is the one in the MADT.
func vcpuCPUID(host []kvm.CPUIDEntry, xen []xenshim.CPUIDLeaf, apicID uint32, n int, tscDeadline bool) []kvm.CPUIDEntry {
	coreBits := uint32(bits.Len(uint(n - 1)))
	out := make([]kvm.CPUIDEntry, 0, len(host)+len(xen)+2)
	for _, e := range host {
		switch f := e.Function; {
		case f >= cpuidHypervisors && f < cpuidHypervisors+0x10000000:
			continue
		case f == cpuidTopology, f == cpuidTopologyV2:
			continue
		case f == cpuidFeatures:
			e.Ebx = e.Ebx&0xffff | uint32(min(n, 255))<<16 | apicID<<24
			e.Ecx |= featHypervisor
			e.Ecx &^= featTSCDeadline
			if tscDeadline {
				e.Ecx |= featTSCDeadline
			}
			e.Edx &^= featHTT
			if n > 1 {
				e.Edx |= featHTT
			}
		case f == cpuidCaches:
			e.Eax = e.Eax&0x3ffffff | uint32(min(n-1, 63))<<26
		case f == cpuidAMDSize:
			e.Ecx = e.Ecx&^0xf0ff | uint32(min(n-1, 255)) | coreBits<<12
		case f == cpuidAMDTopology:
			e.Eax, e.Ebx, e.Ecx = apicID, apicID&0xff, 0
		}
		out = append(out, e)
	}
	if slices.ContainsFunc(host, func(e kvm.CPUIDEntry) bool { return e.Function == cpuidTopology }) {
		out = append(out,
			topologyLevel(0, 0, 1, 1, apicID),                // one thread a core
			topologyLevel(1, coreBits, uint32(n), 2, apicID), // n cores a package
		)
	}
	for _, l := range xen {
		e := kvm.CPUIDEntry{Function: l.Function, Index: l.Index, Eax: l.EAX, Ebx: l.EBX, Ecx: l.ECX, Edx: l.EDX}
		if slices.ContainsFunc(xen, func(o xenshim.CPUIDLeaf) bool { return o.Function == l.Function && o.Index != l.Index }) {
			e.Flags = kvm.CPUIDSignificantIndex
		}
		out = append(out, e)
	}
	return out
}

// topologyLevel is one sub-leaf of CPUID 0xb; kind 1 is threads, 2 is cores.
func topologyLevel(index, shift, count, kind, apicID uint32) kvm.CPUIDEntry {
	return kvm.CPUIDEntry{
		Function: cpuidTopology, Index: index, Flags: kvm.CPUIDSignificantIndex,
		Eax: shift, Ebx: count, Ecx: index | kind<<8, Edx: apicID,
	}
}
