// SPDX-License-Identifier: Apache-2.0

package evtchn

import "xenvmm/xenshim/abi"

// ClosePort is EVTCHNOP_close. EINVAL if there is no such port or it is closed. Its
// pending bit is cleared, so that whoever gets the port next starts clean; its
// mask bit is left alone. The other end of an interdomain channel turns unbound,
// reserved for this domain, and keeps its vCPU.
func (t *Table) ClosePort(port uint32) abi.Errno {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.at(port)
	if !ok || e == nil {
		return abi.EINVAL
	}
	t.close(e)
	return abi.OK
}

// close frees the port of e. The caller holds mu.
func (t *Table) close(e *entry) {
	switch e.state {
	case abi.EvtchnStatVIRQ:
		t.unbindVIRQ(e)
	case abi.EvtchnStatPIRQ:
		t.pirqs[e.pirq].Store(0)
	case abi.EvtchnStatInterdomain:
		if e.host != nil {
			e.host.peer.Store(0)
		} else if peer := t.slots[e.peer].entry.Load(); peer != nil {
			t.publish(e.peer, entry{state: abi.EvtchnStatUnbound, vcpu: peer.vcpu, dom: t.self})
		}
	}
	// Closed first: a sender that comes later than the clearing sees it.
	t.slots[e.port].entry.Store(nil)
	t.kept.forget(e.port)
	if t.touched && !t.clearPending(e.port) {
		t.kept.keep(&t.kept.clears, e.port)
	}
	t.release(e.port)
}

// clearPending clears the pending bit of a closed port, waiting for a change of
// memory to end. It reports false if shared_info is away. The caller holds mu.
func (t *Table) clearPending(port uint32) bool {
	d := t.current()
	for range maxTries {
		if d.clear(t.r, port) {
			return true
		}
		if d.refreshPort(port) != nil {
			break
		}
	}
	return false
}
