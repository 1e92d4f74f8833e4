// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"errors"
	"fmt"

	"xenvmm/vmm/boot"
	"xenvmm/xenshim"
)

// stubTrap takes the place of a 3-byte hypercall instruction in a kernel: OUT of
// EAX to HypercallPort, by which a hypercall page's stubs trap as well, and NOP.
// It leaves all registers alone, unlike IN, and needs no exception of the guest's,
// unlike INT3 or HLT.
var stubTrap = [boot.StubSize]byte{0xe7, xenshim.HypercallPort, 0x90}

// load writes the kernel and what belongs to it into the guest's memory and makes
// its hypercalls visible, from the first on.
func (m *Machine) load() (*boot.Image, error) {
	img, err := boot.Load(m.memory, bootParams(m.cfg, m.cmdline(), m.memory.Ranges()))
	if err != nil {
		return nil, badKernel(m.cfg.KernelName, err)
	}
	if m.cfg.Trap == TrapMSR {
		if err := m.trapStubs(img); err != nil {
			return nil, err
		}
	}
	var entries []xenshim.MemoryMapEntry
	for _, e := range img.MemoryMap {
		entries = append(entries, xenshim.MemoryMapEntry{Address: e.GPA, Size: e.Size, Type: uint32(e.Type)})
	}
	m.domain.SetMemoryMap(entries)
	return img, nil
}

// trapStubs rewrites the instructions of a kernel that uses no hypercall page.
func (m *Machine) trapStubs(img *boot.Image) error {
	way, n, err := img.Trap(m.memory, stubTrap)
	if errors.Is(err, boot.ErrUntrappable) {
		return &ConfigError{Field: "kernel", Value: m.cfg.KernelName, Err: err, Remedy: "use a kernel of Linux 6.1 or later as distributions build it, " +
			"or a host whose KVM intercepts hypercalls (CONFIG_KVM_XEN; `vmm lab exec --host debian-6.12 -- vmm run` boots one)"}
	}
	if err != nil {
		return badKernel(m.cfg.KernelName, fmt.Errorf("make its hypercalls visible: %w", err))
	}
	m.cfg.Log.Info("hypercalls", "kernel", m.cfg.KernelName, "by", way, "rewritten", n)
	return nil
}
