// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// BindPIRQ is EVTCHNOP_bind_pirq: a new port for a physical interrupt, on vCPU 0
// until bind_vcpu. EINVAL if there is no such pirq, EEXIST if it is bound
// already, ENOSPC if no port is free. flags only say whether the guest would
// share a physical line, which needs no care here.
func (t *Table) BindPIRQ(pirq, flags uint32) (port uint32, e abi.Errno) {
	if uint64(pirq) >= uint64(len(t.pirqs)) {
		return 0, abi.EINVAL
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pirqs[pirq].Load() != 0 {
		return 0, abi.EEXIST
	}
	port, e = t.open(entry{state: abi.EvtchnStatPIRQ, pirq: pirq})
	if e == abi.OK {
		t.pirqs[pirq].Store(port)
	}
	return port, e
}

// RaisePIRQ sends the event of a pirq. bound is false if the guest has not bound
// it, and then nothing happens. On the fast path it takes no lock and allocates
// nothing.
func (t *Table) RaisePIRQ(r *gpc.Reader, pirq uint32) (bound bool) {
	if uint64(pirq) >= uint64(len(t.pirqs)) {
		return false
	}
	port := t.pirqs[pirq].Load()
	if port == 0 {
		return false
	}
	e := t.slots[port].entry.Load()
	if e == nil || e.state != abi.EvtchnStatPIRQ || e.pirq != pirq {
		return false // closed meanwhile
	}
	t.raise(r, e)
	return true
}
