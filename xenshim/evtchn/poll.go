// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"sync/atomic"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// pollers counts the vCPUs in SCHEDOP_poll, so that senders look no further
// while there are none. What each one waits for is in its vcpu.poll: pollNone,
// pollAny, or pollPort plus the one port.
type pollers struct {
	n atomic.Int32
}

const (
	pollNone = iota
	pollAny
	pollPort
)

// PollStart notes that a vCPU waits for one of ports. It comes before the check
// with AnyPending and UpcallPending: an event that these miss will wake it. Like
// Xen, only a wait for a single port is selective; the rest may wake for
// nothing. Every PollStart is followed by a PollEnd, however the poll ends.
func (t *Table) PollStart(vcpu int, ports []uint32) {
	if vcpu < 0 || vcpu >= len(t.vcpus) {
		return
	}
	want := uint32(pollAny)
	if len(ports) == 1 && ports[0] > 0 && ports[0] < maxPorts {
		want = pollPort + ports[0]
	}
	if t.vcpus[vcpu].poll.Swap(want) == pollNone {
		t.polls.n.Add(1)
	}
}

// PollEnd notes that a vCPU polls no more. Without a PollStart it does nothing.
func (t *Table) PollEnd(vcpu int) {
	if vcpu < 0 || vcpu >= len(t.vcpus) {
		return
	}
	if t.vcpus[vcpu].poll.Swap(pollNone) != pollNone {
		t.polls.n.Add(-1)
	}
}

// wake wakes those that wait for port, each once per poll. The sender has set
// the pending bit by a locked instruction before it comes here.
func (p *pollers) wake(t *Table, port uint32) {
	if p.n.Load() == 0 {
		return
	}
	for i := range t.vcpus {
		v := &t.vcpus[i]
		want := v.poll.Load()
		if want == pollNone || want != pollAny && want != pollPort+port {
			continue
		}
		if v.poll.CompareAndSwap(want, pollNone) {
			p.n.Add(-1)
			t.wake.WakePoller(i)
		}
	}
}

// AnyPending reports whether one of ports is pending. Ports are looked at in
// turn, up to the first that is: EINVAL if one before that is no port. Closed
// ports are not pending. Events that are latched count.
func (t *Table) AnyPending(r *gpc.Reader, ports []uint32) (bool, abi.Errno) {
	for _, port := range ports {
		e, ok := t.at(port)
		if !ok {
			return false, abi.EINVAL
		}
		if e != nil && e.usable && t.pending(r, e) {
			return true, abi.OK
		}
	}
	return false, abi.OK
}

func (t *Table) pending(r *gpc.Reader, e *entry) bool {
	for range maxTries {
		if set, ok := e.abi.pending(r, e.port); ok && set {
			return true
		} else if ok || e.abi.refreshPort(e.port) != nil {
			break
		}
	}
	return t.kept.latched.has(e.port)
}

// UpcallPending reports whether evtchn_upcall_pending of a vCPU is set. It is
// not while the vcpu_info is away; when it returns with something to tell, the
// Upcaller is called.
func (t *Table) UpcallPending(r *gpc.Reader, vcpu int) bool {
	if vcpu < 0 || vcpu >= len(t.vcpus) {
		return false
	}
	info := t.vcpus[vcpu].info
	for range maxTries {
		if word, ok := r.Load32(info, abi.VCPUInfoUpcallPending); ok {
			return word&0xff != 0
		}
		if info.Refresh() != nil {
			break
		}
	}
	return false
}
