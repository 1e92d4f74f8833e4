// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// entry is the immutable state of an open port. Changing a binding publishes
// another one.
type entry struct {
	port  uint32
	state uint32 // abi.EvtchnStat*, never closed
	vcpu  int    // to whom events go

	dom  abi.DomID // unbound: who may bind to it; interdomain: whose the peer is
	peer uint32    // interdomain: the peer's port
	host *HostPort // interdomain with the backend domain
	virq uint32
	pirq uint32

	// What follows belongs to the event ABI that delivers the port.
	abi    delivery
	usable bool // false: the ABI has no such port, events wait
	signal gpc.Signal
	count  *counters
}

// publish makes e the entry of port. It fills in what follows from the port and
// the ABI. The caller holds mu.
func (t *Table) publish(port uint32, e entry) *entry {
	e.port = port
	e.abi = t.current()
	if e.count = &t.slots[port].count; e.host != nil {
		e.count = &e.host.count
	}
	e.abi.prepare(&e)
	p := &e
	t.slots[port].entry.Store(p)
	return p
}
