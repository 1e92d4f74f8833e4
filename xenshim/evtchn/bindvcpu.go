// SPDX-License-Identifier: Apache-2.0

package evtchn

import "xenvmm/xenshim/abi"

// BindVCPU is EVTCHNOP_bind_vcpu: events of port go to vcpu from now on. ENOENT
// if there is no such vCPU, which is checked first; EINVAL if there is no such
// port, it is closed, or it belongs to one vCPU for good, as IPIs and per-vCPU
// VIRQs do. An event that is pending is not sent again: guests mask the port
// around this, and unmasking does it.
func (t *Table) BindVCPU(port, vcpu uint32) abi.Errno {
	if vcpu >= uint32(len(t.vcpus)) {
		return abi.ENOENT
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.at(port)
	if !ok || e == nil {
		return abi.EINVAL
	}
	if e.state == abi.EvtchnStatIPI || e.state == abi.EvtchnStatVIRQ && !virqGlobal(e.virq) {
		return abi.EINVAL
	}
	if e.vcpu == int(vcpu) {
		return abi.OK
	}
	next := *e
	next.vcpu = int(vcpu)
	t.publish(port, next)
	if t.kept.owed.has(port) {
		t.kept.kick() // what the old vCPU could not be told, the new one may
	}
	return abi.OK
}
