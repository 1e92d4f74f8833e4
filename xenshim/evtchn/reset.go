// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// Reset is EVTCHNOP_reset: closes every port of the domain and returns to the
// 2-level ABI at the current width. EPERM or ESRCH if dom is not the caller.
// Backends keep their ends, which turn unbound: the guest may bind to them
// again, or the host closes them and makes new ones. Unlike in Xen, no operation
// can get in between, so that neither EBUSY nor EAGAIN is ever returned.
func (t *Table) Reset(_ *gpc.Reader, dom abi.DomID) abi.Errno {
	if e := t.target(dom); e != abi.OK {
		return e
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeAll()
	return abi.OK
}

// closeAll closes every port. The caller holds mu.
func (t *Table) closeAll() {
	for port := range uint32(maxPorts) {
		if e := t.slots[port].entry.Load(); e != nil {
			t.close(e)
		}
	}
}

// SoftReset takes the domain back to how it started, as a soft reset does: all
// ports closed, no vcpu_info registered, no shared_info mapped, 64-bit. The
// caller clears the shared_info page before it maps it again.
func (t *Table) SoftReset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeAll()
	for i := range t.vcpus {
		t.vcpus[i].registered = false
		t.vcpus[i].info.Deactivate()
	}
	t.unmapSharedInfo()
	t.touched = false
	t.kept.clears.clear()
	t.kept.marks.clear()
	t.useABI(newTwoLevel(t, abi.Width64))
}
