// SPDX-License-Identifier: Apache-2.0

package xenshim

// SetMemoryMap gives the domain the map that XENMEM_memory_map tells the
// guest. It is known only when the kernel has been laid out, so it comes after
// New; no vCPU may run yet.
func (d *Domain) SetMemoryMap(m []MemoryMapEntry) { d.cfg.MemoryMap = m }
