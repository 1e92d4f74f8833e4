// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// self checks that a domain id in an argument names the caller, by its number
// or as DOMID_SELF: the two must never take different paths. The control
// domain exists but is out of reach (EPERM); there are no others (ESRCH).
func (d *Domain) self(id uint16) abi.Errno {
	switch abi.DomID(id) {
	case abi.DomIDSelf, d.cfg.DomID:
		return abi.OK
	case abi.DomIDBackend:
		return abi.EPERM
	}
	return abi.ESRCH
}
