// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// maxTries bounds how often a sender refreshes memory that goes stale again.
// What it has not done by then is latched.
const maxTries = 16

// Send is EVTCHNOP_send. EINVAL if there is no such port, it is closed, or it is
// not one that guests send on (VIRQ and PIRQ are not). A masked port, and an
// unbound one, where the event is dropped, are success. On the fast path it
// takes no lock and allocates nothing. The notify function of a HostPort runs
// before Send returns.
func (t *Table) Send(r *gpc.Reader, port uint32) abi.Errno {
	if port >= maxPorts {
		return abi.EINVAL
	}
	e := t.slots[port].entry.Load()
	if e == nil || !e.usable {
		return abi.EINVAL
	}
	switch e.state {
	case abi.EvtchnStatIPI:
		t.raise(r, e)
	case abi.EvtchnStatInterdomain:
		if e.host != nil {
			e.host.notify()
			break
		}
		peer := t.slots[e.peer].entry.Load()
		if peer != nil && peer.state == abi.EvtchnStatInterdomain && peer.host == nil && peer.peer == port {
			t.raise(r, peer)
		} // else the peer was closed after e was read, and port is unbound
	case abi.EvtchnStatUnbound:
	default:
		return abi.EINVAL
	}
	return abi.OK
}

// raise sends an event to the port of e, now or, if memory is away, later. Stale
// and StaleVCPU mean that all of it or a part was latched.
func (t *Table) raise(r *gpc.Reader, e *entry) gpc.Result {
	res := t.attempt(r, e)
	switch res {
	case gpc.Stale:
		e.count.latched.Add(1)
		t.kept.keep(&t.kept.latched, e.port)
	case gpc.StaleVCPU:
		t.kept.keep(&t.kept.owed, e.port)
	}
	return res
}

// attempt sends an event and latches nothing. Stale: nothing has happened.
// StaleVCPU: the port is pending, but its vCPU does not know.
func (t *Table) attempt(r *gpc.Reader, e *entry) gpc.Result {
	if !e.usable {
		return gpc.Stale
	}
	res := e.abi.raise(r, e)
	switch res {
	case gpc.Stale, gpc.StalePort, gpc.StaleVCPU:
		e.count.slow.Add(1)
	}
	for try := 0; res == gpc.Stale; try++ {
		if try == maxTries || e.abi.refreshPort(e.port) != nil {
			return gpc.Stale
		}
		res = e.abi.raise(r, e)
	}
	if res == gpc.Coalesced {
		e.count.coalesced.Add(1)
	} else {
		e.count.delivered.Add(1)
		res = t.reach(r, e, res)
		t.polls.wake(t, e.port)
	}
	if now := t.slots[e.port].entry.Load(); now != e {
		t.overtaken(e, now, res)
	}
	return res
}

// reach takes an event whose port is pending to the vCPU, from where res says
// it has got. It calls the vCPU if that is due. Where the port's memory stays away
// the vCPU is owed a look at the port whether or not it is masked, which does no
// harm.
func (t *Table) reach(r *gpc.Reader, e *entry, res gpc.Result) gpc.Result {
	for try := 0; res == gpc.StalePort || res == gpc.StaleVCPU; try++ {
		switch {
		case try == maxTries:
			return gpc.StaleVCPU
		case res == gpc.StalePort:
			if e.abi.refreshPort(e.port) != nil {
				return gpc.StaleVCPU
			}
			res = e.abi.settle(r, e)
		default:
			if e.abi.refreshVCPU(e.vcpu) != nil {
				return gpc.StaleVCPU
			}
			res = e.abi.resume(r, e)
		}
	}
	if res == gpc.Raised {
		t.up.Upcall(e.vcpu)
	}
	return res
}

// overtaken sees to an event that was sent by entry e while the port was given
// the entry now. What the old entry made of it may be of no use: the guest has
// possibly been told that the change is complete, and has unmasked the port or
// looked for events, before the bits were set.
func (t *Table) overtaken(e, now *entry, res gpc.Result) {
	switch {
	case now == nil:
		if res != gpc.Coalesced { // else it is the bit of another sender
			t.kept.keep(&t.kept.clears, e.port)
		}
	case now.abi != e.abi:
		// Both, since the pending bit may be the same one in either ABI and the
		// selector another.
		t.kept.keep(&t.kept.latched, e.port)
		t.kept.keep(&t.kept.owed, e.port)
	case now.vcpu != e.vcpu && res != gpc.Coalesced:
		t.kept.keep(&t.kept.owed, e.port)
	}
}
