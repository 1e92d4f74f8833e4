// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// grantInUse are the flags a backend holds while it uses an entry.
const grantInUse = abi.GTFReading | abi.GTFWriting

// grantSlot is where an entry lies.
type grantSlot struct {
	frame int
	off   uint32
}

func slotOf(ref uint32) grantSlot {
	return grantSlot{int(ref / abi.GrantEntriesV1PerFrame), ref % abi.GrantEntriesV1PerFrame * abi.GrantEntryV1Size}
}

// grantSwap is GNTTABOP_swap_grant_ref: exchange two entries of the caller's
// own table. Both are taken out of use first, by the compare-and-swap that a
// backend would pin them with, so that no backend can see half of either; an
// entry in use is GNTST_eagain.
func (d *Domain) grantSwap(p []byte) abi.GrantStatus {
	ra, rb := u32(p, abi.GrantSwapRefA), u32(p, abi.GrantSwapRefB)
	limit := uint64(d.grants.Frames()) * abi.GrantEntriesV1PerFrame
	if uint64(ra) >= limit || uint64(rb) >= limit {
		return abi.GNTSTBadGntref
	}
	if ra == rb {
		return abi.GNTSTOkay
	}
	a, b := slotOf(ra), slotOf(rb)
	headA, ok := d.takeGrant(a)
	if !ok {
		return abi.GNTSTEagain
	}
	headB, ok := d.takeGrant(b)
	if !ok {
		d.putGrant(a, headA)
		return abi.GNTSTEagain
	}
	g := d.grantPages
	fa, errA := g.Load32(a.frame, a.off+abi.GrantEntryV1FrameOffset)
	fb, errB := g.Load32(b.frame, b.off+abi.GrantEntryV1FrameOffset)
	if errA != nil || errB != nil ||
		g.Store32(a.frame, a.off+abi.GrantEntryV1FrameOffset, fb) != nil || g.Store32(b.frame, b.off+abi.GrantEntryV1FrameOffset, fa) != nil {
		return abi.GNTSTGeneralError
	}
	d.putGrant(a, headB)
	d.putGrant(b, headA)
	return abi.GNTSTOkay
}

// takeGrant makes an entry invalid unless it is in use, and returns its first
// word. The guest may race with that; a bounded number of tries is enough for
// one that means well.
func (d *Domain) takeGrant(s grantSlot) (uint32, bool) {
	for range 4 {
		head, err := d.grantPages.Load32(s.frame, s.off)
		if err != nil || head&grantInUse != 0 {
			return 0, false
		}
		if ok, err := d.grantPages.CompareAndSwap32(s.frame, s.off, head, 0); err != nil {
			return 0, false
		} else if ok {
			return head, true
		}
	}
	return 0, false
}

// putGrant makes an entry valid again. If the guest has written to it
// meanwhile, its word stands.
func (d *Domain) putGrant(s grantSlot, head uint32) {
	_, _ = d.grantPages.CompareAndSwap32(s.frame, s.off, 0, head)
}
