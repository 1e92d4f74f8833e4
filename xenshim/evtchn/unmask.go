// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// Unmask is EVTCHNOP_unmask: clears the mask bit of port, and if it was set and
// the port is pending, sends the event to the vCPU that the port is bound to.
// EINVAL if there is no such port; a closed one is success, without effect.
func (t *Table) Unmask(r *gpc.Reader, _ int, port uint32) abi.Errno {
	e, ok := t.at(port)
	if !ok {
		return abi.EINVAL
	}
	if e == nil {
		return abi.OK
	}
	switch t.tryUnmask(r, e) {
	case gpc.Stale:
		t.kept.keep(&t.kept.unmasks, port)
	case gpc.StaleVCPU:
		t.kept.keep(&t.kept.owed, port)
	}
	return abi.OK
}

// tryUnmask unmasks and latches nothing. Stale: nothing has happened.
// StaleVCPU: the port is unmasked and pending, but its vCPU does not know.
func (t *Table) tryUnmask(r *gpc.Reader, e *entry) gpc.Result {
	if !e.usable {
		return gpc.Stale
	}
	res := e.abi.unmask(r, e)
	for try := 0; res == gpc.Stale; try++ {
		if try == maxTries || e.abi.refreshPort(e.port) != nil {
			return gpc.Stale
		}
		res = e.abi.unmask(r, e)
	}
	if res == gpc.NotPending {
		return res
	}
	res = t.reach(r, e, res)
	if now := t.slots[e.port].entry.Load(); now != nil && now != e && now.vcpu != e.vcpu {
		t.kept.keep(&t.kept.owed, e.port) // see overtaken
	}
	return res
}
