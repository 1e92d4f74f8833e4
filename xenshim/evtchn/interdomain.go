// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// BindInterdomain is EVTCHNOP_bind_interdomain: a new port connected to rport of
// rdom, which must be unbound and reserved for the caller. rdom is the caller
// itself, which connects two ports of its own, or the backend domain, where
// rport is the number of a HostPort. ESRCH if there is no rdom, ENOSPC if no
// port is free, EINVAL if rport can't be bound to.
//
// The new port is made pending, whether or not anything was sent: a
// notification to the unbound port may have been dropped before.
func (t *Table) BindInterdomain(r *gpc.Reader, _ int, rdom abi.DomID, rport uint32) (port uint32, e abi.Errno) {
	bound, e := t.bindInterdomain(rdom, rport)
	if e != abi.OK {
		return 0, e
	}
	t.raise(r, bound)
	return bound.port, abi.OK
}

func (t *Table) bindInterdomain(rdom abi.DomID, rport uint32) (*entry, abi.Errno) {
	switch rdom {
	case abi.DomIDSelf:
		rdom = t.self
	case t.self, abi.DomIDBackend:
	default:
		return nil, abi.ESRCH
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	port, e := t.allocate()
	if e != abi.OK {
		return nil, e
	}
	// The new port is still closed, so that binding to itself fails here.
	bound := entry{state: abi.EvtchnStatInterdomain, dom: rdom, peer: rport}
	if rdom == abi.DomIDBackend {
		h := t.hostUnbound(rport)
		if h == nil {
			t.release(port)
			return nil, abi.EINVAL
		}
		bound.host = h
		entry := t.publish(port, bound)
		h.peer.Store(port)
		return entry, abi.OK
	}
	remote, ok := t.at(rport)
	if !ok || remote == nil || remote.state != abi.EvtchnStatUnbound || remote.dom != t.self {
		t.release(port)
		return nil, abi.EINVAL
	}
	t.publish(rport, entry{state: abi.EvtchnStatInterdomain, vcpu: remote.vcpu, dom: t.self, peer: port})
	return t.publish(port, bound), abi.OK
}
