// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"slices"

	"xenvmm/xenshim/abi"
)

// EventFrames returns the guest frames that event delivery writes to now:
// shared_info and every vcpu_info outside it.
func (d *Domain) EventFrames() []uint64 {
	var out []uint64
	if gfn, ok := d.sharedInfo.GFN(0); ok {
		out = append(out, gfn)
	}
	for i := range d.vcpus {
		if gpa, ok := d.events.VCPUInfoGPA(i); ok {
			if gfn := gpa >> abi.PageShift; !slices.Contains(out, gfn) {
				out = append(out, gfn)
			}
		}
	}
	return out
}

// RingFrames returns the guest frames of the store and console rings.
func (d *Domain) RingFrames() []uint64 { return []uint64{d.cfg.StoreGFN, d.cfg.ConsoleGFN} }
