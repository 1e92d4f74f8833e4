// SPDX-License-Identifier: Apache-2.0

package evtchn

import "xenvmm/xenshim/abi"

// The FIFO ABI is not offered. A guest probes for it with init_control; ENOSYS
// is the answer of a Xen that lacks it, after which Linux and Windows use the
// 2-level ABI. Another delivery would be switched to in InitControl.

// InitControl is EVTCHNOP_init_control.
func (t *Table) InitControl(gfn uint64, offset, vcpu uint32) (linkBits uint8, e abi.Errno) {
	return 0, abi.ENOSYS
}

// ExpandArray is EVTCHNOP_expand_array.
func (t *Table) ExpandArray(gfn uint64) abi.Errno { return abi.ENOSYS }

// SetPriority is EVTCHNOP_set_priority; priorities exist in the FIFO ABI only.
func (t *Table) SetPriority(port, priority uint32) abi.Errno { return abi.ENOSYS }
