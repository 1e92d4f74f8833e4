// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"

	"xenvmm/gpc"
	"xenvmm/vmm/memory"
	"xenvmm/xenshim/abi"
)

const pageSize = 4096

// Guest frames of the caches, by number. vcpu_info areas are 64 bytes apart, as
// guests place them.
func sharedAt(i int) uint64 { return 0x10_000 + uint64(i)*pageSize }
func vcpuAt(i int) uint64 {
	return 0x40_000 + uint64(i)*abi.VCPUInfoSize
}

// vcpuPageAt is a vcpu_info area in a page of its own.
func vcpuPageAt(i int) uint64 { return 0x60_000 + uint64(i)*pageSize }

// newMemory is guest memory as a machine has it, without KVM: the product's own
// Resolver, which marks dirty what is written, at the cost of a load while no
// one tracks that.
func newMemory() (*memory.Memory, error) {
	m, err := memory.New(memory.Config{Size: memory.MinSize})
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	return m, nil
}

// A domain is the caches of one guest under one guard.
type domain struct {
	set    *gpc.Set
	mem    *memory.Memory
	shared []*gpc.Cache
	vcpus  []*gpc.Cache
}

// newDomain has a cache of a page at each of shared, and of a vcpu_info at each
// of vcpus, all valid.
func newDomain(mem *memory.Memory, guard string, shared, vcpus []uint64) (*domain, error) {
	set, err := gpc.NewSet(mem, gpc.Options{Guard: guard})
	if err != nil {
		return nil, err
	}
	d := &domain{set: set, mem: mem}
	activated := func(name string, gpa, n uint64) *gpc.Cache {
		c := set.NewCache(name)
		if e := c.Activate(gpa, n); e != nil && err == nil {
			err = fmt.Errorf("bench: %w", e)
		}
		return c
	}
	for _, gpa := range shared {
		d.shared = append(d.shared, activated("shared_info", gpa, pageSize))
	}
	for _, gpa := range vcpus {
		d.vcpus = append(d.vcpus, activated("vcpu_info", gpa, abi.VCPUInfoSize))
	}
	return d, err
}

// portOf is the port of thread id: in the spread layout each has a word of
// pending bits of its own, and as long as there are lines enough, a cache line.
func portOf(layout string, id int) uint32 {
	if layout == LayoutShared {
		return uint32(id)
	}
	word := uint32(id%8*8 + id/8%8)
	return word*64 + 5
}

// signal is the description of a port in the layout of a 64-bit guest.
func signal(shared, vcpu *gpc.Cache, port uint32) *gpc.Signal {
	l := abi.Layout(abi.Width64)
	word, bit := port/32*4, uint8(port%32)
	return &gpc.Signal{
		Shared:  shared,
		Pending: gpc.Bit{Off: l.EvtchnPending + word, Bit: bit},
		Mask:    gpc.Bit{Off: l.EvtchnMask + word, Bit: bit},
		VCPU:    vcpu,
		Sel:     gpc.Bit{Off: l.VCPUPendingSel + port/64/32*4, Bit: uint8(port / 64 % 32)},
		Upcall:  abi.VCPUInfoUpcallPending,
	}
}
