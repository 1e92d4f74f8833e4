// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// reservation is increase_reservation, decrease_reservation and
// populate_physmap: ballooning within the domain's own RAM. It returns how
// many extents have been handled, counting those before start, and never an
// error: a bad argument, a frame in the wrong state or the end of the work
// budget just end the list, as a lack of memory does on Xen, and the guest
// asks again.
//
// Populating works on frames that are holes. A frame already populated ends the
// list, as it does on Xen for a domain at its limit; so does a frame outside
// RAM, where no memory can be put. increase_reservation has nothing to give: a
// translated guest would get pages it can't address.
func (c *call) reservation(cmd, start, ptr uint64) int64 {
	l := abi.MemoryReservationLayout(c.width)
	p, ok := c.arg(ptr, l.Size)
	if !ok {
		return errno(abi.EFAULT)
	}
	list, nr := word(p, l.ExtentStart, c.width), word(p, l.NrExtents, c.width)
	order, flags, dom := u32(p, l.ExtentOrder), u32(p, l.MemFlags), u16(p, l.DomID)
	// No more than a start in the command word can count.
	most := ^uint64(0) >> (64 - c.width.Bits()) >> abi.MemopExtentShift
	if nr > most || start > nr ||
		order > abi.MemopMaxOrder || c.d.self(dom) != abi.OK ||
		cmd == abi.XenmemIncreaseReservation || flags&abi.MemfPopulateOnDemand != 0 {
		return int64(start)
	}
	cost := 1 << order
	if cmd == abi.XenmemDecreaseReservation {
		cost = max(cost, discardCost)
	}
	i := start
	for ; i < nr; i++ {
		gfn, ok := c.readWord(list, i)
		if !ok || !c.spend(cost) {
			break
		}
		if cmd == abi.XenmemPopulatePhysmap {
			ok = c.d.populate(gfn, 1<<order)
		} else {
			ok = c.d.release(gfn, 1<<order)
		}
		if !ok {
			break
		}
	}
	return int64(i)
}

// populate gives the guest n RAM frames from gfn back, all or none.
func (d *Domain) populate(gfn, n uint64) bool {
	if gfn >= gfnLimit {
		return false
	}
	d.phys.mu.Lock()
	defer d.phys.mu.Unlock()
	for i := range n {
		if _, over := d.phys.overlays[gfn+i]; over || !d.phys.isHole(gfn+i) {
			return false
		}
	}
	for i := range n {
		d.phys.setHole(gfn+i, false)
	}
	return true
}

// release takes n frames from gfn out of the map. It stops at the first frame
// that isn't populated; those before it stay released, as on Xen.
func (d *Domain) release(gfn, n uint64) bool {
	if done, ok := d.releaseRAM(gfn, n); done {
		return ok
	}
	for i := range n {
		if d.removeFrame(gfn+i) != abi.OK {
			return false
		}
	}
	return true
}

// releaseRAM releases n frames in one step if all of them are plain RAM; done
// is false if they are not.
func (d *Domain) releaseRAM(gfn, n uint64) (done, ok bool) {
	if gfn >= gfnLimit {
		return true, false
	}
	d.phys.mu.Lock()
	defer d.phys.mu.Unlock()
	for i := range n {
		if _, over := d.phys.overlays[gfn+i]; over || !d.phys.populated(gfn+i) {
			return false, false
		}
	}
	if d.cfg.Memory.Discard(gfn, n) != nil {
		return true, false
	}
	for i := range n {
		d.phys.setHole(gfn+i, true)
	}
	return true, true
}

// removeFrame takes whatever is at gfn out of the map: one of the domain's own
// pages, or RAM, which then reads as zero.
func (d *Domain) removeFrame(gfn uint64) abi.Errno {
	if gfn >= gfnLimit {
		return abi.ENOENT
	}
	d.phys.mu.Lock()
	defer d.phys.mu.Unlock()
	if o, ok := d.phys.overlays[gfn]; ok {
		if o.pages == d.sharedInfo {
			return d.moveSharedInfo(func() abi.Errno { return d.phys.displace(gfn) })
		}
		return d.phys.displace(gfn)
	}
	if !d.phys.populated(gfn) {
		return abi.ENOENT
	}
	if err := d.cfg.Memory.Discard(gfn, 1); err != nil {
		return mapErrno(err)
	}
	d.phys.setHole(gfn, true)
	return abi.OK
}
