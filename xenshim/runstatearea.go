// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// registerRunstate sets where a vCPU's runstate is shown: the argument holds a
// guest linear address, which may be unaligned and cross a page; 0 takes the
// area away. As on Xen an area that isn't mapped is accepted and not written:
// only an unreadable argument is an error.
func (c *call) registerRunstate(t *VCPU, ptr uint64) int64 {
	p, ok := c.arg(ptr, abi.MemoryAreaSize)
	if !ok {
		return errno(abi.EFAULT)
	}
	la := word(p, 0, c.width)
	w := c.d.events.Width()
	size := uint64(abi.RunstateLayout(w).Size)
	var parts [2]gpc.Piece
	if la != 0 && c.inRange(la, size) {
		for i, left := 0, size; left > 0; i++ {
			gpa, ok := translate(c.d.cfg.Memory, c.s, la, true)
			if !ok {
				parts = [2]gpc.Piece{}
				break
			}
			m := min(pageSize-la&pageMask, left)
			parts[i] = gpc.Piece{GPA: gpa, N: m}
			la, left = la+m, left-m
		}
	}
	t.run.register(c.d, parts[0], parts[1], w)
	return 0
}

// registerRunstatePhys sets the area by guest physical address: in one page,
// aligned to a guest word; all ones takes it away.
func (c *call) registerRunstatePhys(t *VCPU, ptr uint64) int64 {
	p, ok := c.arg(ptr, abi.MemoryAreaSize)
	if !ok {
		return errno(abi.EFAULT)
	}
	gpa, w := u64(p, 0), c.d.events.Width()
	if gpa == abi.MemoryAreaUnmap {
		t.run.register(c.d, gpc.Piece{}, gpc.Piece{}, w)
		return 0
	}
	size := uint64(abi.RunstateLayout(w).Size)
	if gpa&pageMask+size > pageSize || gpa%uint64(c.width) != 0 {
		return errno(abi.ENXIO)
	}
	if gpa>>pageShift >= gfnLimit || c.d.cfg.Memory.ReadAt(c.wordBuf[:1], gpa) != nil {
		return errno(abi.EINVAL)
	}
	t.run.register(c.d, gpc.Piece{GPA: gpa, N: size}, gpc.Piece{}, w)
	return 0
}

// reset forgets area and account; the vCPU is in the given state from now on.
func (r *runstate) reset(now uint64, state uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.copy.forget()
	r.time, r.entry, r.state = [4]uint64{}, now, state
}
