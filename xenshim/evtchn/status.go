// SPDX-License-Identifier: Apache-2.0

package evtchn

import "xenvmm/xenshim/abi"

// Status is the answer of EVTCHNOP_status (struct evtchn_status).
type Status struct {
	State uint32    // abi.EvtchnStat*
	VCPU  uint32    // to whom events go; 0 if closed
	Dom   abi.DomID // unbound: who may bind; interdomain: whose the other end is
	Port  uint32    // interdomain: the other end
	PIRQ  uint32
	VIRQ  uint32
}

// Status is EVTCHNOP_status. EPERM or ESRCH if dom is not the caller, EINVAL if
// there is no such port. Port 0 is reported closed.
func (t *Table) Status(dom abi.DomID, port uint32) (Status, abi.Errno) {
	if e := t.target(dom); e != abi.OK {
		return Status{}, e
	}
	e, ok := t.at(port)
	if !ok {
		return Status{}, abi.EINVAL
	}
	if e == nil {
		return Status{State: abi.EvtchnStatClosed}, abi.OK
	}
	return Status{State: e.state, VCPU: uint32(e.vcpu), Dom: e.dom, Port: e.peer, PIRQ: e.pirq, VIRQ: e.virq}, abi.OK
}
