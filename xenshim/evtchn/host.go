// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"fmt"
	"sync/atomic"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// maxHostPorts bounds the backend domain's ports.
const maxHostPorts = maxPorts

// HostPort is the end of a channel that a backend in the VMM holds. To the guest
// it is a port of the backend domain, with a number of its own there. If the
// guest closes its end, the HostPort is unbound until the guest binds to it
// again or the host closes it.
type HostPort struct {
	t      *Table
	number uint32
	notify func()
	peer   atomic.Uint32 // the guest's port, 0 while unbound
	count  counters
	closed bool // guarded by Table.mu
}

// BindHost allocates a port in the guest that is connected to a new HostPort, as
// a toolstack does for store and console. notify runs when the guest sends, on
// the guest's thread: it must not block and may run once more after Close. nil
// ignores what the guest sends.
func (t *Table) BindHost(notify func()) (*HostPort, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, err := t.newHost(notify)
	if err != nil {
		return nil, err
	}
	port, e := t.open(entry{state: abi.EvtchnStatInterdomain, dom: abi.DomIDBackend, peer: h.number, host: h})
	if e != abi.OK {
		t.hosts[h.number] = nil
		return nil, fmt.Errorf("evtchn: bind host: all %d ports of the guest are in use: %w", t.current().ports(), e)
	}
	h.peer.Store(port)
	return h, nil
}

// ConnectHost binds a new HostPort to a port that the guest has allocated for the
// backend domain with alloc_unbound, as a backend does when its frontend has
// told it the port. notify is as for BindHost and runs once before ConnectHost
// returns: what the guest sent before was dropped.
func (t *Table) ConnectHost(guestPort uint32, notify func()) (*HostPort, error) {
	h, err := t.connectHost(guestPort, notify)
	if err != nil {
		return nil, err
	}
	h.notify()
	return h, nil
}

func (t *Table) connectHost(guestPort uint32, notify func()) (*HostPort, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.at(guestPort)
	if !ok || e == nil || e.state != abi.EvtchnStatUnbound || e.dom != abi.DomIDBackend {
		return nil, fmt.Errorf("evtchn: connect host to port %d: the guest has not allocated it for domain %d: wait until its frontend is initialised: %w",
			guestPort, abi.DomIDBackend, abi.EINVAL)
	}
	h, err := t.newHost(notify)
	if err != nil {
		return nil, err
	}
	t.publish(guestPort, entry{state: abi.EvtchnStatInterdomain, vcpu: e.vcpu, dom: abi.DomIDBackend, peer: h.number, host: h})
	h.peer.Store(guestPort)
	return h, nil
}

// AllocHost returns a HostPort that is unbound and reserved for the guest, which
// may bind_interdomain to its Number. notify is as for BindHost.
func (t *Table) AllocHost(notify func()) (*HostPort, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.newHost(notify)
}

// newHost gives a HostPort the lowest free number. The caller holds mu.
func (t *Table) newHost(notify func()) (*HostPort, error) {
	if notify == nil {
		notify = func() {}
	}
	h := &HostPort{t: t, notify: notify}
	for i := 1; i < len(t.hosts); i++ {
		if t.hosts[i] == nil {
			h.number = uint32(i)
			t.hosts[i] = h
			return h, nil
		}
	}
	if len(t.hosts) == maxHostPorts {
		return nil, fmt.Errorf("evtchn: all %d host ports are in use: close some: %w", maxHostPorts-1, abi.ENOSPC)
	}
	h.number = uint32(len(t.hosts))
	t.hosts = append(t.hosts, h)
	return h, nil
}

// hostUnbound returns the unbound HostPort with the given number, or nil. The
// caller holds mu.
func (t *Table) hostUnbound(number uint32) *HostPort {
	if uint64(number) >= uint64(len(t.hosts)) {
		return nil
	}
	if h := t.hosts[number]; h != nil && h.peer.Load() == 0 {
		return h
	}
	return nil
}

// Port is the guest's port, or 0 while the channel is unbound.
func (h *HostPort) Port() uint32 { return h.peer.Load() }

// Number is the port of the backend domain: what the guest sees as remote port.
func (h *HostPort) Number() uint32 { return h.number }

// Notify sends an event to the guest. On the fast path it takes no lock and
// allocates nothing. The event is never lost: Stale and StaleVCPU say that
// guest memory is away and that the event or a part of it is latched. The
// exception is a channel that is unbound, NotPending: whoever binds to it finds
// an event then.
func (h *HostPort) Notify(r *gpc.Reader) gpc.Result {
	port := h.peer.Load()
	if port == 0 {
		return gpc.NotPending
	}
	e := h.t.slots[port].entry.Load()
	if e == nil || e.host != h {
		return gpc.NotPending
	}
	return h.t.raise(r, e)
}

// Close ends the channel. The guest's end turns unbound, reserved for the
// backend domain. Closing twice does nothing.
func (h *HostPort) Close() {
	t := h.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	t.hosts[h.number] = nil
	t.retired.add(&h.count)
	if port := h.peer.Swap(0); port != 0 {
		e := t.slots[port].entry.Load()
		t.publish(port, entry{state: abi.EvtchnStatUnbound, vcpu: e.vcpu, dom: abi.DomIDBackend})
	}
}

// Stats returns how many events to the guest made its port pending, how many
// found it pending already, and how many were latched for want of shared_info. A
// latched event counts as delivered once replayed, unless it was coalesced.
func (h *HostPort) Stats() (delivered, coalesced, latched uint64) {
	c := h.count.load()
	return c.Delivered, c.Coalesced, c.Latched
}
