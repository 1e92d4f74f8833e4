// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// virqGlobal tells a VIRQ that the domain has once from those that every vCPU
// has (public/xen.h).
func virqGlobal(virq uint32) bool {
	switch virq {
	case abi.VIRQTimer, abi.VIRQDebug, abi.VIRQXenoprof, abi.VIRQXenPMU:
		return false
	}
	return true
}

// BindVIRQ is EVTCHNOP_bind_virq. EINVAL for a VIRQ of 24 and up, and for a
// global one on a vCPU other than 0; ENOENT if there is no such vCPU; EEXIST if
// it is bound there already; ENOSPC if no port is free.
func (t *Table) BindVIRQ(virq, vcpu uint32) (port uint32, e abi.Errno) {
	if virq >= abi.NrVIRQs || virqGlobal(virq) && vcpu != 0 {
		return 0, abi.EINVAL
	}
	if vcpu >= uint32(len(t.vcpus)) {
		return 0, abi.ENOENT
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	bound := &t.vcpus[vcpu].virq[virq]
	if bound.Load() != 0 {
		return 0, abi.EEXIST
	}
	port, e = t.open(entry{state: abi.EvtchnStatVIRQ, vcpu: int(vcpu), virq: virq})
	if e == abi.OK {
		bound.Store(port)
	}
	return port, e
}

// unbindVIRQ forgets the port of a VIRQ. A global one is noted with vCPU 0,
// wherever its events go. The caller holds mu.
func (t *Table) unbindVIRQ(e *entry) {
	vcpu := e.vcpu
	if virqGlobal(e.virq) {
		vcpu = 0
	}
	t.vcpus[vcpu].virq[e.virq].Store(0)
}

// RaiseVIRQ sends a VIRQ to a vCPU; vcpu is ignored for a global one. One that
// the guest has not bound is dropped, as Xen does. On the fast path it takes no
// lock and allocates nothing.
func (t *Table) RaiseVIRQ(r *gpc.Reader, virq uint32, vcpu int) {
	if virq >= abi.NrVIRQs {
		return
	}
	if virqGlobal(virq) {
		vcpu = 0
	}
	if vcpu < 0 || vcpu >= len(t.vcpus) {
		return
	}
	port := t.vcpus[vcpu].virq[virq].Load()
	if port == 0 {
		return
	}
	e := t.slots[port].entry.Load()
	if e == nil || e.state != abi.EvtchnStatVIRQ || e.virq != virq {
		return // closed meanwhile
	}
	t.raise(r, e)
}
