// SPDX-License-Identifier: Apache-2.0

package abi

// grant_table_op commands (public/grant_table.h).
const (
	GnttabopMapGrantRef      = 0
	GnttabopUnmapGrantRef    = 1
	GnttabopSetupTable       = 2
	GnttabopDumpTable        = 3
	GnttabopTransfer         = 4
	GnttabopCopy             = 5
	GnttabopQuerySize        = 6
	GnttabopUnmapAndReplace  = 7
	GnttabopSetVersion       = 8
	GnttabopGetStatusFrames  = 9
	GnttabopGetVersion       = 10
	GnttabopSwapGrantRef     = 11
	GnttabopCacheFlush       = 12
	GrantReservedConsole     = 0 // reference of the console ring page
	GrantReservedXenstore    = 1 // reference of the xenstore ring page
	GrantReservedEntries     = 8 // references below this one are reserved
	GrantEntryV1Size         = 8 // flags u16 @0, domid u16 @2, frame u32 @4
	GrantEntriesV1PerFrame   = PageSize / GrantEntryV1Size
	GrantDefaultMaxFrames    = 64
	GrantEntryV1FlagsOffset  = 0
	GrantEntryV1DomIDOffset  = 2
	GrantEntryV1FrameOffset  = 4
	GrantEntryV1DomIDShift   = 16 // of the 32-bit word that holds flags and domid
	GrantTableInitialFrames  = 1
	GrantTableVersionDefault = 1
)

// Flags of a version 1 grant entry (public/grant_table.h, GTF_*).
const (
	GTFInvalid        = 0
	GTFPermitAccess   = 1
	GTFAcceptTransfer = 2
	GTFTransitive     = 3
	GTFTypeMask       = 3
	GTFReadonly       = 1 << 2
	GTFReading        = 1 << 3
	GTFWriting        = 1 << 4
	GTFSubPage        = 1 << 8
)

// GrantStatus is the status field of a grant table operation
// (public/grant_table.h, GNTST_*); negative values are errors.
type GrantStatus int16

// The statuses.
const (
	GNTSTOkay             GrantStatus = 0
	GNTSTGeneralError     GrantStatus = -1
	GNTSTBadDomain        GrantStatus = -2
	GNTSTBadGntref        GrantStatus = -3
	GNTSTBadHandle        GrantStatus = -4
	GNTSTBadVirtAddr      GrantStatus = -5
	GNTSTBadDevAddr       GrantStatus = -6
	GNTSTNoDeviceSpace    GrantStatus = -7
	GNTSTPermissionDenied GrantStatus = -8
	GNTSTBadPage          GrantStatus = -9
	GNTSTBadCopyArg       GrantStatus = -10
	GNTSTAddressTooBig    GrantStatus = -11
	GNTSTEagain           GrantStatus = -12
	GNTSTNoSpace          GrantStatus = -13
)

// Error implements the error interface with the name used by the header.
func (s GrantStatus) Error() string {
	switch s {
	case GNTSTOkay:
		return "GNTST_okay"
	case GNTSTGeneralError:
		return "GNTST_general_error"
	case GNTSTBadDomain:
		return "GNTST_bad_domain"
	case GNTSTBadGntref:
		return "GNTST_bad_gntref"
	case GNTSTBadHandle:
		return "GNTST_bad_handle"
	case GNTSTPermissionDenied:
		return "GNTST_permission_denied"
	case GNTSTBadPage:
		return "GNTST_bad_page"
	case GNTSTBadCopyArg:
		return "GNTST_bad_copy_arg"
	case GNTSTAddressTooBig:
		return "GNTST_address_too_big"
	case GNTSTNoSpace:
		return "GNTST_no_space"
	}
	if s < 0 {
		return "GNTST -" + utoa(uint16(-int32(s)))
	}
	return "GNTST " + utoa(uint16(s))
}
