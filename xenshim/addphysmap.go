// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// batchMaps bounds the maps of one add_to_physmap_batch; further entries get
// -EAGAIN.
const batchMaps = 128

// addToPhysmap shows one of the domain's own pages at a frame of the guest's
// choice, in RAM or outside.
func (c *call) addToPhysmap(ptr uint64) int64 {
	l := abi.AddToPhysmapLayout(c.width)
	p, ok := c.arg(ptr, l.Size)
	if !ok {
		return errno(abi.EFAULT)
	}
	space := u32(p, l.Space)
	if space == abi.XenmapspaceGmfnForeig {
		return errno(abi.ENOSYS) // only the batch form has room for the domain
	}
	if e := c.d.self(u16(p, l.DomID)); e != abi.OK {
		return errno(e)
	}
	return errno(c.mapOne(space, word(p, l.Idx, c.width), word(p, l.GPFN, c.width)))
}

// mapOne maps page idx of a space at gfn. Moving RAM (the gmfn spaces) is not
// offered: host memory behind RAM is one mapping.
func (c *call) mapOne(space uint32, idx, gfn uint64) abi.Errno {
	if !c.spend(mapCost) {
		return abi.EAGAIN
	}
	switch space {
	case abi.XenmapspaceSharedInfo:
		if idx != 0 {
			return abi.EINVAL
		}
		return c.d.mapSharedInfo(c, gfn)
	case abi.XenmapspaceGrantTable:
		return c.d.mapGrantFrame(idx, gfn)
	case abi.XenmapspaceGmfn, abi.XenmapspaceGmfnRange:
		return abi.EOPNOTSUPP
	}
	return abi.EINVAL
}

// addToPhysmapBatch maps many pages. Every entry's outcome goes to errs; the
// call itself fails only if the arguments or the lists can't be used.
func (c *call) addToPhysmapBatch(ptr uint64) int64 {
	l := abi.AddToPhysmapBatchLayout(c.width)
	p, ok := c.arg(ptr, l.Size)
	if !ok {
		return errno(abi.EFAULT)
	}
	space, count := uint32(u16(p, l.Space)), uint64(u16(p, l.Count))
	idxs, gfns, errs := word(p, l.Idxs, c.width), word(p, l.GPFNs, c.width), word(p, l.Errs, c.width)
	switch e := c.d.self(u16(p, l.DomID)); {
	case space == abi.XenmapspaceGmfnRange:
		return errno(abi.EINVAL)
	case e != abi.OK:
		return errno(e)
	case space == abi.XenmapspaceGmfnForeig:
		// There is a foreign domain in extra, and none this one may map.
		return errno(abi.EPERM)
	}
	for i := range count {
		idx, ok1 := c.readWord(idxs, i)
		gfn, ok2 := c.readWord(gfns, i)
		at, ok3 := element(errs, i, 4)
		if !ok1 || !ok2 || !ok3 {
			return errno(abi.EFAULT)
		}
		e := abi.EAGAIN
		if i < batchMaps {
			e = c.mapOne(space, idx, gfn)
		}
		putU32(c.wordBuf[:], 0, uint32(int32(errno(e))))
		if !c.copyOut(at, c.wordBuf[:4]) {
			return errno(abi.EFAULT)
		}
	}
	return 0
}

// removeFromPhysmap takes whatever is at a frame out of the map.
func (c *call) removeFromPhysmap(ptr uint64) int64 {
	l := abi.RemoveFromPhysmapLayout(c.width)
	p, ok := c.arg(ptr, l.Size)
	if !ok {
		return errno(abi.EFAULT)
	}
	gfn := word(p, l.GPFN, c.width)
	if e := c.d.self(u16(p, l.DomID)); e != abi.OK {
		return errno(e)
	}
	if !c.spend(mapCost) {
		return errno(abi.EAGAIN)
	}
	return errno(c.d.removeFrame(gfn))
}
