// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// memoryOp is memory_op(cmd, ptr). The low 6 bits of cmd are the command; the
// rest is the first extent to handle, for the commands that work on a list of
// extents and may be called again to go on.
func (c *call) memoryOp(a *args) int64 {
	cmd, start, ptr := a[0]&abi.XenmemCmdMask, a[0]>>abi.MemopExtentShift, a[1]
	switch cmd {
	case abi.XenmemIncreaseReservation, abi.XenmemDecreaseReservation, abi.XenmemPopulatePhysmap:
		return c.reservation(cmd, start, ptr)
	case abi.XenmemMaximumRAMPage:
		return int64(c.d.phys.ramTop() + 1)
	case abi.XenmemCurrentReservation:
		return c.memoryQuery(ptr, c.d.phys.current)
	case abi.XenmemMaximumReservation:
		return c.memoryQuery(ptr, func() uint64 { return c.d.phys.total })
	case abi.XenmemMaximumGPFN:
		return c.memoryQuery(ptr, c.d.phys.highest)
	case abi.XenmemAddToPhysmap:
		return c.addToPhysmap(ptr)
	case abi.XenmemAddToPhysmapBatch:
		return c.addToPhysmapBatch(ptr)
	case abi.XenmemRemoveFromPhysmap:
		return c.removeFromPhysmap(ptr)
	case abi.XenmemMemoryMap:
		return c.memoryMap(ptr)
	case abi.XenmemSetMemoryMap:
		return errno(abi.EPERM)
	}
	return errno(abi.ENOSYS)
}

// memoryQuery answers the commands whose argument is only a domain.
func (c *call) memoryQuery(ptr uint64, f func() uint64) int64 {
	p, ok := c.arg(ptr, 2)
	if !ok {
		return errno(abi.EFAULT)
	}
	if e := c.d.self(u16(p, 0)); e != abi.OK {
		return errno(e)
	}
	return int64(f())
}

// memoryMap copies the memory map out. With too little room the first entries
// are copied and that is success; nr_entries returns how many.
func (c *call) memoryMap(ptr uint64) int64 {
	l := abi.MemoryMapLayout(c.width)
	p, ok := c.arg(ptr, l.Size)
	if !ok {
		return errno(abi.EFAULT)
	}
	entries, buf := c.d.cfg.MemoryMap, word(p, l.Buffer, c.width)
	if len(entries) == 0 {
		return errno(abi.ENOSYS)
	}
	n := min(uint64(u32(p, l.NrEntries)), uint64(len(entries)))
	for i := range n {
		out := c.wordBuf[:abi.E820EntrySize]
		putU64(out, 0, entries[i].Address)
		putU64(out, 8, entries[i].Size)
		putU32(out, 16, entries[i].Type)
		at, ok := element(buf, i, abi.E820EntrySize)
		if !ok || !c.copyOut(at, out) {
			return errno(abi.EFAULT)
		}
	}
	putU32(p, l.NrEntries, uint32(n))
	return c.putOut(ptr, p)
}
