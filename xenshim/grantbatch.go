// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// grantBatch runs an operation on each of count structures and writes each
// one's status, exactly once. A count that the call's work budget does not
// cover is refused as a whole, so that no entry is left without an answer.
func (c *call) grantBatch(ptr, count uint64, size, status uint32, op func(p []byte) abi.GrantStatus) int64 {
	if !c.spend(int(min(count, workBudget+1))) {
		return errno(abi.E2BIG)
	}
	for i := range count {
		at, ok := element(ptr, i, uint64(size))
		if !ok {
			return errno(abi.EFAULT)
		}
		p, ok := c.arg(at, size)
		if !ok {
			return errno(abi.EFAULT)
		}
		putU16(c.statusBuf[:], 0, uint16(op(p)))
		if !c.copyOut(at+uint64(status), c.statusBuf[:]) {
			return errno(abi.EFAULT)
		}
	}
	return 0
}

// grantDomain tells what a guest can reach of another domain's grants: nothing
// of any. Its own grants name other domains; the control domain grants it
// nothing; others don't exist, and DOMID_SELF is no domain to map from.
func (d *Domain) grantDomain(dom uint16) abi.GrantStatus {
	switch abi.DomID(dom) {
	case d.cfg.DomID:
		return abi.GNTSTGeneralError
	case abi.DomIDBackend:
		return abi.GNTSTBadGntref
	}
	return abi.GNTSTBadDomain
}

// grantMap is GNTTABOP_map_grant_ref for a domain to which nobody has granted
// anything.
func (c *call) grantMap(p []byte) abi.GrantStatus {
	if u32(p, abi.GrantMapFlags)&(abi.GrantMapDevice|abi.GrantMapHost) == 0 {
		return abi.GNTSTBadGntref
	}
	return c.d.grantDomain(u16(p, abi.GrantMapDom))
}

// grantUnmap is GNTTABOP_unmap_grant_ref: no handle is ever given out.
func grantUnmap([]byte) abi.GrantStatus { return abi.GNTSTBadHandle }

// grantCopy is GNTTABOP_copy between two frames of the caller's. An end that
// is a grant reference fails as a mapping of it would.
func (c *call) grantCopy(p []byte) abi.GrantStatus {
	l := abi.GrantCopyLayout(c.width)
	flags := u16(p, l.Flags)
	src, dst := word(p, l.SrcFrame, c.width), word(p, l.DstFrame, c.width)
	srcOff, dstOff, n := u16(p, l.SrcOff), u16(p, l.DstOff), u16(p, l.Len)
	if st := c.copyEnd(flags&abi.GrantCopySrcRef != 0, u16(p, l.SrcDom)); st != abi.GNTSTOkay {
		return st
	}
	if st := c.copyEnd(flags&abi.GrantCopyDstRef != 0, u16(p, l.DstDom)); st != abi.GNTSTOkay {
		return st
	}
	ram := grantRAM{c.d}
	if !frameOK(ram, src) || !frameOK(ram, dst) {
		return abi.GNTSTBadPage
	}
	if uint32(srcOff)+uint32(n) > pageSize || uint32(dstOff)+uint32(n) > pageSize {
		return abi.GNTSTBadCopyArg
	}
	buf := c.pageBuf[:n]
	if ram.ReadAt(buf, src<<pageShift|uint64(srcOff)) != nil ||
		ram.WriteAt(buf, dst<<pageShift|uint64(dstOff)) != nil {
		return abi.GNTSTBadPage
	}
	return abi.GNTSTOkay
}

// copyEnd checks the domain of one end: a frame must be the caller's own.
func (c *call) copyEnd(ref bool, dom uint16) abi.GrantStatus {
	if ref {
		if abi.DomID(dom) == abi.DomIDSelf {
			dom = uint16(c.d.cfg.DomID) // here, unlike in a map, Xen knows it
		}
		return c.d.grantDomain(dom)
	}
	if d := abi.DomID(dom); d != abi.DomIDSelf && d != c.d.cfg.DomID {
		return abi.GNTSTPermissionDenied
	}
	return abi.GNTSTOkay
}

// frameOK reports whether gfn is RAM.
func frameOK(ram grantRAM, gfn uint64) bool {
	return gfn < gfnLimit && ram.Contains(gfn<<pageShift, pageSize)
}
