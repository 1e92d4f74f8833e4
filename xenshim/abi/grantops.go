// SPDX-License-Identifier: Apache-2.0

package abi

// GNTMAP_* and GNTCOPY_* flags (public/grant_table.h).
const (
	GrantMapDevice  = 1 << 0
	GrantMapHost    = 1 << 1
	GrantCopySrcRef = 1 << 0
	GrantCopyDstRef = 1 << 1
)

// Arguments of grant_table_op whose layout does not depend on the width: sizes
// and byte offsets.
const (
	GrantMapSize         = 32
	GrantMapFlags        = 8  // u32
	GrantMapRef          = 12 // u32
	GrantMapDom          = 16 // u16
	GrantMapStatus       = 18 // i16
	GrantUnmapSize       = 24
	GrantUnmapStatus     = 20 // i16
	GrantQuerySizeSize   = 16
	GrantQuerySizeDom    = 0  // u16
	GrantQuerySizeNr     = 4  // u32
	GrantQuerySizeMax    = 8  // u32
	GrantQuerySizeStatus = 12 // i16
	GrantSetVersionSize  = 4  // u32 version
	GrantGetVersionSize  = 8
	GrantGetVersionDom   = 0 // u16
	GrantGetVersionVer   = 4 // u32
	GrantSwapSize        = 12
	GrantSwapRefA        = 0 // u32
	GrantSwapRefB        = 4 // u32
	GrantSwapStatus      = 8 // i16
)

// GrantSetup holds the byte offsets in struct gnttab_setup_table. FrameList is
// a guest pointer to an array of frame numbers, each a guest word.
type GrantSetup struct{ Size, Dom, NrFrames, Status, FrameList uint32 }

// GrantSetupLayout returns the layout for w.
func GrantSetupLayout(w Width) GrantSetup {
	if w == Width32 {
		return GrantSetup{Size: 16, Dom: 0, NrFrames: 4, Status: 8, FrameList: 12}
	}
	return GrantSetup{Size: 24, Dom: 0, NrFrames: 4, Status: 8, FrameList: 16}
}

// GrantCopy holds the byte offsets in struct gnttab_copy. Each end is a guest
// word (frame or reference), a 16-bit domain and a 16-bit offset.
type GrantCopy struct {
	Size                     uint32
	SrcFrame, SrcDom, SrcOff uint32
	DstFrame, DstDom, DstOff uint32
	Len, Flags, Status       uint32
}

// GrantCopyLayout returns the layout for w.
func GrantCopyLayout(w Width) GrantCopy {
	if w == Width32 {
		return GrantCopy{
			Size: 24, SrcFrame: 0, SrcDom: 4, SrcOff: 6, DstFrame: 8, DstDom: 12, DstOff: 14,
			Len: 16, Flags: 18, Status: 20,
		}
	}
	return GrantCopy{
		Size: 40, SrcFrame: 0, SrcDom: 8, SrcOff: 10, DstFrame: 16, DstDom: 24, DstOff: 26,
		Len: 32, Flags: 34, Status: 36,
	}
}
