// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"errors"

	"xenvmm/gpc"
)

// replay tries everything that is kept once. What still can't be done is kept
// without a kick if memory is away: when it returns, that brings one. It may
// wait for a change of memory to end.
//
// A bit is taken before its port is looked at, so that a port that is closed and
// opened again meanwhile gets an event too many rather than too few.
func (k *kept) replay() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.waiting.Load() {
		return
	}
	k.replays.Add(1)
	clear(k.away)
	k.again = false
	k.marks.each(k.mark)
	k.clears.each(k.clear)
	k.unmasks.each(k.unmask)
	k.latched.each(k.raise)
	k.owed.each(k.resume)
	if k.again {
		k.kick()
	}
	if k.any() {
		return
	}
	k.waiting.Store(false)
	if k.any() { // kept between the two, by someone whose kick is yet to come
		k.waiting.Store(true)
	}
}

// failed looks at why something could not be done, err being the result of a
// refresh since. Where memory is there but kept changing, no restore hook may
// come any more, and the next try is due now.
func (k *kept) failed(err error) {
	if err == nil || errors.Is(err, gpc.ErrBusy) {
		k.again = true
	}
}

func (k *kept) failedPort(e *entry) {
	if e.usable { // else SetWidth brings the next try
		k.failed(e.abi.refreshPort(e.port))
	}
}

func (k *kept) mark(n uint32) {
	k.marks.take(n)
	d := k.t.current()
	for range maxTries {
		if d.mark(k.r, int(n)) {
			k.t.up.Upcall(int(n))
			return
		}
		if d.refreshVCPU(int(n)) != nil {
			break
		}
	}
	k.marks.set(n)
	k.failed(d.refreshVCPU(int(n)))
}

// clear clears the pending bit of a port that is closed. One that has been
// opened since had that done, or has an event of its own by now.
func (k *kept) clear(port uint32) {
	t := k.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slots[port].entry.Load() != nil || t.clearPending(port) {
		k.clears.take(port)
		return
	}
	k.failed(t.current().refreshPort(port))
}

func (k *kept) unmask(port uint32) {
	k.unmasks.take(port)
	e := k.t.slots[port].entry.Load()
	if e == nil {
		return
	}
	switch k.t.tryUnmask(k.r, e) {
	case gpc.Stale:
		k.unmasks.set(port)
		k.failedPort(e)
	case gpc.StaleVCPU:
		k.owed.set(port) // its turn comes below
	}
}

func (k *kept) raise(port uint32) {
	k.latched.take(port)
	e := k.t.slots[port].entry.Load()
	if e == nil {
		return
	}
	switch k.t.attempt(k.r, e) {
	case gpc.Stale:
		k.latched.set(port)
		k.failedPort(e)
	case gpc.StaleVCPU:
		k.owed.set(port) // its turn comes below
	}
}

func (k *kept) resume(port uint32) {
	k.owed.take(port)
	e := k.t.slots[port].entry.Load()
	if e == nil {
		return
	}
	if k.away[e.vcpu] || k.t.reach(k.r, e, gpc.StaleVCPU) == gpc.StaleVCPU {
		k.owed.set(port)
		if !k.away[e.vcpu] {
			k.away[e.vcpu] = true
			k.failed(e.abi.refreshVCPU(e.vcpu))
		}
	}
}
