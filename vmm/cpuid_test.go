// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"testing"

	"xenvmm/vmm/kvm"
	"xenvmm/xenshim"
	"xenvmm/xenshim/abi"
)

func find(t *testing.T, entries []kvm.CPUIDEntry, function, index uint32) kvm.CPUIDEntry {
	t.Helper()
	var found []kvm.CPUIDEntry
	for _, e := range entries {
		if e.Function == function && (e.Flags&kvm.CPUIDSignificantIndex == 0 || e.Index == index) {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		t.Fatalf("CPUID %#x.%d has %d entries, want one", function, index, len(found))
	}
	return found[0]
}

// TestEveryPlaceShowsTheSameAPICID: a guest that finds two different ones does
// not start its other processors.
func TestEveryPlaceShowsTheSameAPICID(t *testing.T) {
	host := []kvm.CPUIDEntry{
		{Function: 0x0, Eax: 0x1f},
		{Function: 0x1, Ebx: 0xff080800, Ecx: 1 << 21, Edx: 1 << 28},
		{Function: 0x4, Index: 0, Flags: kvm.CPUIDSignificantIndex, Eax: 0xffffc121},
		{Function: 0xb, Index: 0, Flags: kvm.CPUIDSignificantIndex, Edx: 77},
		{Function: 0xb, Index: 1, Flags: kvm.CPUIDSignificantIndex, Edx: 77},
		{Function: 0x1f, Index: 0, Flags: kvm.CPUIDSignificantIndex, Edx: 77},
		{Function: 0x40000000, Ebx: 0x4b4d564b}, // KVM's own signature
		{Function: 0x40000001, Eax: 0x1},
		{Function: 0x80000008, Ecx: 0x70ff},
		{Function: 0x8000001e, Eax: 77},
	}
	xen := []xenshim.CPUIDLeaf{
		{Function: abi.CPUIDBase, EAX: abi.CPUIDMaxLeaf, EBX: abi.CPUIDSignatureB},
		{Function: abi.CPUIDBase + 3, Index: 0, Indexed: true, ECX: 1},
		{Function: abi.CPUIDBase + 3, Index: 1, Indexed: true, ECX: 2},
	}
	for _, n := range []int{1, 2, 3, 8, 41, 254} {
		for _, id := range []uint32{0, uint32(n - 1)} {
			got := vcpuCPUID(host, xen, id, n, true)
			if v := find(t, got, 1, 0); v.Ebx>>24 != id || v.Ebx>>16&0xff != uint32(n) || v.Ecx&featHypervisor == 0 || v.Ecx&featTSCDeadline == 0 {
				t.Errorf("%d vCPUs: leaf 1 is %+v for APIC id %d", n, v, id)
			}
			for i := range uint32(2) {
				if v := find(t, got, 0xb, i); v.Edx != id || v.Ecx&0xff != i {
					t.Errorf("%d vCPUs: leaf 0xb.%d is %+v for APIC id %d", n, i, v, id)
				}
			}
			core := find(t, got, 0xb, 1)
			if core.Ebx != uint32(n) || 1<<core.Eax < n || core.Eax > 0 && 1<<(core.Eax-1) >= n {
				t.Errorf("%d vCPUs: the package has %d processors and %d bits of APIC id", n, core.Ebx, core.Eax)
			}
			if v := find(t, got, 0x8000001e, 0); v.Eax != id {
				t.Errorf("leaf 0x8000001e shows %d for APIC id %d", v.Eax, id)
			}
			if v := find(t, got, abi.CPUIDBase, 0); v.Ebx != abi.CPUIDSignatureB {
				t.Error("the hypervisor's signature is not Xen's")
			}
			if v := find(t, got, abi.CPUIDBase+3, 1); v.Ecx != 2 {
				t.Error("sub-leaves of the Xen leaves are mixed up")
			}
			for _, e := range got {
				if e.Function == 0x1f || e.Function == 0x40000001 {
					t.Errorf("host leaf %#x shows through", e.Function)
				}
			}
		}
	}
}

func TestTSCDeadlineIsShownOnlyWhereItWorks(t *testing.T) {
	host := []kvm.CPUIDEntry{{Function: 1, Ecx: featTSCDeadline}}
	if e := find(t, vcpuCPUID(host, nil, 0, 1, false), 1, 0); e.Ecx&featTSCDeadline != 0 || e.Edx&featHTT != 0 {
		t.Errorf("leaf 1 is %+v", e)
	}
}
