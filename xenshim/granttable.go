// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// grantMemory shows the grant table's frames to package gnttab.
type grantMemory struct{ p *cachedPages }

func (g grantMemory) ReadAt(frame int, p []byte, off uint32) error {
	return g.p.ReadAt(p, frame, off)
}

func (g grantMemory) WriteAt(frame int, p []byte, off uint32) error {
	return g.p.WriteAt(p, frame, off)
}

func (g grantMemory) Load32(frame int, off uint32) (uint32, error) {
	return g.p.Load32(frame, off)
}

func (g grantMemory) CompareAndSwap32(frame int, off, old, new uint32) (bool, error) {
	return g.p.CompareAndSwap32(frame, off, old, new)
}

// settleGrants has the grant table do what it could not while a frame of it was
// away.
func (d *Domain) settleGrants() { d.grants.Settle() }

// grantRAM is what a guest may grant: its RAM.
type grantRAM struct{ d *Domain }

func (g grantRAM) Contains(gpa, n uint64) bool {
	r, i := g.d.phys.find(gpa >> pageShift)
	return r != nil && n <= (r.count-i)<<pageShift-gpa&pageMask
}

func (g grantRAM) ReadAt(p []byte, gpa uint64) error  { return g.d.cfg.Memory.ReadAt(p, gpa) }
func (g grantRAM) WriteAt(p []byte, gpa uint64) error { return g.d.cfg.Memory.WriteAt(p, gpa) }

// mapGrantFrame shows frame idx of the grant table at gfn. The table grows to
// hold it, so a guest may start with its highest frame. There are no status
// frames (bit 31 of idx) in version 1.
func (d *Domain) mapGrantFrame(idx, gfn uint64) abi.Errno {
	if idx >= uint64(d.cfg.MaxGrantFrames) {
		return abi.EINVAL
	}
	if e := d.grants.Grow(uint32(idx) + 1); e != abi.OK {
		return e
	}
	d.phys.mu.Lock()
	defer d.phys.mu.Unlock()
	place := func() abi.Errno { return d.phys.place(overlay{d.grantPages, int(idx)}, gfn) }
	if o, ok := d.phys.overlays[gfn]; ok && o.pages == d.sharedInfo {
		return d.moveSharedInfo(place) // replaces it
	}
	return place()
}

// grantTableOp is grant_table_op(cmd, ptr, count). The commands that act on
// one structure insist on a count of 1.
func (c *call) grantTableOp(a *args) int64 {
	ptr, count := a[1], a[2]&0xffff_ffff
	if count>>31 != 0 {
		return errno(abi.EINVAL)
	}
	cmd := uint32(a[0])
	switch cmd {
	case abi.GnttabopSetupTable, abi.GnttabopQuerySize, abi.GnttabopSetVersion:
		if count != 1 {
			return errno(abi.EINVAL)
		}
	}
	switch cmd {
	case abi.GnttabopMapGrantRef:
		return c.grantBatch(ptr, count, abi.GrantMapSize, abi.GrantMapStatus, c.grantMap)
	case abi.GnttabopUnmapGrantRef:
		return c.grantBatch(ptr, count, abi.GrantUnmapSize, abi.GrantUnmapStatus, grantUnmap)
	case abi.GnttabopCopy:
		l := abi.GrantCopyLayout(c.width)
		return c.grantBatch(ptr, count, l.Size, l.Status, c.grantCopy)
	case abi.GnttabopSwapGrantRef:
		return c.grantBatch(ptr, count, abi.GrantSwapSize, abi.GrantSwapStatus, c.d.grantSwap)
	case abi.GnttabopSetupTable:
		return c.grantSetup(ptr)
	case abi.GnttabopQuerySize:
		return c.grantQuerySize(ptr)
	case abi.GnttabopSetVersion:
		return c.grantSetVersion(ptr)
	case abi.GnttabopGetVersion:
		return c.grantGetVersion(ptr)
	}
	return errno(abi.ENOSYS)
}

// grantSetVersion accepts version 1; the version in use is written back.
func (c *call) grantSetVersion(ptr uint64) int64 {
	p, ok := c.arg(ptr, abi.GrantSetVersionSize)
	if !ok {
		return errno(abi.EFAULT)
	}
	v, e := c.d.grants.SetVersion(u32(p, 0))
	if e != abi.OK {
		return errno(e)
	}
	putU32(p, 0, v)
	return c.putOut(ptr, p)
}

func (c *call) grantGetVersion(ptr uint64) int64 {
	p, ok := c.arg(ptr, abi.GrantGetVersionSize)
	if !ok {
		return errno(abi.EFAULT)
	}
	v, e := c.d.grants.GetVersion(abi.DomID(u16(p, abi.GrantGetVersionDom)))
	if e != abi.OK {
		return errno(e)
	}
	putU32(p, abi.GrantGetVersionVer, v)
	return c.putOut(ptr, p)
}

// grantQuerySize reports the table's size; a domain that can't be asked is a
// status, not an error.
func (c *call) grantQuerySize(ptr uint64) int64 {
	p, ok := c.arg(ptr, abi.GrantQuerySizeSize)
	if !ok {
		return errno(abi.EFAULT)
	}
	size, st := c.d.grants.QuerySize(abi.DomID(u16(p, abi.GrantQuerySizeDom)))
	if st == abi.GNTSTOkay {
		putU32(p, abi.GrantQuerySizeNr, size.Frames)
		putU32(p, abi.GrantQuerySizeMax, size.Max)
	}
	putU16(p, abi.GrantQuerySizeStatus, uint16(st))
	return c.putOut(ptr, p)
}

// grantSetup grows the table and lists where its frames are; a frame the guest
// hasn't mapped is listed as all ones, as for any translated guest.
func (c *call) grantSetup(ptr uint64) int64 {
	l := abi.GrantSetupLayout(c.width)
	p, ok := c.arg(ptr, l.Size)
	if !ok {
		return errno(abi.EFAULT)
	}
	n, list := u32(p, l.NrFrames), word(p, l.FrameList, c.width)
	st := c.d.grants.SetupTable(abi.DomID(u16(p, l.Dom)), n)
	if st == abi.GNTSTOkay {
		for i := range n { // at most MaxGrantFrames
			gfn, mapped := c.d.grantPages.GFN(int(i))
			if !mapped {
				gfn = ^uint64(0)
			}
			putWord(c.wordBuf[:], 0, c.width, gfn)
			at, ok := element(list, uint64(i), uint64(c.width))
			if !ok || !c.copyOut(at, c.wordBuf[:c.width]) {
				st = abi.GNTSTBadVirtAddr
				break
			}
		}
	}
	putU16(p, l.Status, uint16(st))
	return c.putOut(ptr, p)
}
