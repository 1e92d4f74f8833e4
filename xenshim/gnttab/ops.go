// SPDX-License-Identifier: Apache-2.0

package gnttab

import "xenvmm/xenshim/abi"

// SetVersion is GNTTABOP_set_version. Version 1 is accepted, 2 is ENOSYS,
// anything else EINVAL; EBUSY while an entry other than a reserved one is
// mapped. The version returned is to be written back only on success.
func (t *Table) SetVersion(v uint32) (uint32, abi.Errno) {
	switch v {
	case 1:
	case 2:
		return 0, abi.ENOSYS
	default:
		return 0, abi.EINVAL
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for ref := range t.pins {
		if ref >= abi.GrantReservedEntries {
			return 0, abi.EBUSY
		}
	}
	return abi.GrantTableVersionDefault, abi.OK
}

// GetVersion is GNTTABOP_get_version: ESRCH for a domain that doesn't exist,
// EPERM for one that isn't the guest.
func (t *Table) GetVersion(dom abi.DomID) (uint32, abi.Errno) {
	switch {
	case t.self(dom):
		return abi.GrantTableVersionDefault, abi.OK
	case dom == abi.DomIDBackend:
		return 0, abi.EPERM
	}
	return 0, abi.ESRCH
}

// Size is the answer to GNTTABOP_query_size.
type Size struct {
	Frames, Max uint32
}

// QuerySize is GNTTABOP_query_size. The errors are statuses of the operation:
// GNTST_bad_domain, GNTST_permission_denied.
func (t *Table) QuerySize(dom abi.DomID) (Size, abi.GrantStatus) {
	if s := t.check(dom); s != abi.GNTSTOkay {
		return Size{}, s
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return Size{uint32(t.frames), uint32(t.cfg.MaxFrames)}, abi.GNTSTOkay
}

// SetupTable is the part of GNTTABOP_setup_table that grows the table to n
// frames; GNTST_general_error if that is more than the maximum.
func (t *Table) SetupTable(dom abi.DomID, n uint32) abi.GrantStatus {
	if s := t.check(dom); s != abi.GNTSTOkay {
		return s
	}
	if t.Grow(n) != abi.OK {
		return abi.GNTSTGeneralError
	}
	return abi.GNTSTOkay
}

// Grow makes the table have at least n frames; EINVAL if n is more than the
// maximum. Mapping frame i with add_to_physmap needs Grow(i+1). It never
// shrinks.
func (t *Table) Grow(n uint32) abi.Errno {
	if n > uint32(t.cfg.MaxFrames) {
		return abi.EINVAL
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frames = max(t.frames, int(n))
	return abi.OK
}

// Frames is the number of frames in use.
func (t *Table) Frames() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.frames
}

func (t *Table) self(dom abi.DomID) bool { return dom == abi.DomIDSelf || dom == t.cfg.Domain }

func (t *Table) check(dom abi.DomID) abi.GrantStatus {
	switch {
	case t.self(dom):
		return abi.GNTSTOkay
	case dom == abi.DomIDBackend:
		return abi.GNTSTPermissionDenied
	}
	return abi.GNTSTBadDomain
}
