// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"sync"

	"xenvmm/xenshim/abi"
)

// runstate is the account of one vCPU: what it is doing, since when, and how
// long it has been in each state (guest ns). A vCPU counts as running from
// entry to entry: the time the VMM works on its exits is its own. It is
// blocked while it waits in a hypercall, offline while down, and runnable for
// what the host took from it (AddStolen).
//
// The guest's copy is written at every change of state, through a cache, or two
// if it crosses a page (runstatecopy.go). Its address is translated once, at
// registration, as other implementations do.
type runstate struct {
	vcpu  int
	mu    sync.Mutex
	state uint32
	entry uint64
	time  [4]uint64
	copy  runstateCopy
}

func newRunstate(v *VCPU, state uint32) {
	d, r := v.d, &v.run
	r.vcpu = v.id
	r.copy.area = d.cfg.Caches.NewSpan("runstate area")
	r.copy.reader = d.cfg.Caches.NewReader()
	r.copy.latch = d.latches.add(func() { r.again(d) })
	r.reset(d.now(v.id), state)
}

// close ends the use of guest memory.
func (r *runstate) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.copy.area.Deactivate()
	r.copy.reader.Close()
}

// now is a vCPU's time in ns.
func (d *Domain) now(vcpu int) uint64 { return d.cfg.Platform.GuestTime(vcpu) }

// account adds the time since the last change. A clock that stepped back adds
// nothing. Callers hold mu.
func (r *runstate) account(now uint64) {
	if now > r.entry {
		r.time[r.state] += now - r.entry
	}
	r.entry = now
}

// change enters a state and updates the guest's copy.
func (r *runstate) change(d *Domain, state uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == state {
		return
	}
	r.account(d.now(r.vcpu))
	r.state = state
	r.publish(d)
}

// AddStolen moves ns nanoseconds that the vCPU was ready to run but did not
// from running to runnable: the run delay the host's scheduler reports.
func (v *VCPU) AddStolen(ns uint64) {
	r := &v.run
	r.mu.Lock()
	defer r.mu.Unlock()
	r.account(v.d.now(v.id))
	ns = min(ns, r.time[abi.RunstateRunning])
	if ns == 0 {
		return
	}
	r.time[abi.RunstateRunning] -= ns
	r.time[abi.RunstateRunnable] += ns
	r.publish(v.d)
}

// encode writes the structure in a layout and returns its size. Callers hold
// mu.
func (r *runstate) encode(p []byte, w abi.Width) uint32 {
	l := abi.RunstateLayout(w)
	clear(p[:l.Size])
	putU32(p, l.State, r.state)
	putU64(p, l.EntryTime, r.entry)
	for i, t := range r.time {
		putU64(p, l.Time+8*uint32(i), t)
	}
	return l.Size
}

// snapshot writes the structure as of now and returns its size. Unlike the
// guest's copy it counts the time since the present state was entered.
func (r *runstate) snapshot(p []byte, w abi.Width, now uint64) uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.encode(p, w)
	if now > r.entry {
		at := abi.RunstateLayout(w).Time + 8*r.state
		putU64(p, at, r.time[r.state]+now-r.entry)
	}
	return n
}

// Exited is called when the vCPU has left the guest and Entering just before it
// goes back. Both are cheap: only the first entry after a wait changes the
// account.
func (v *VCPU) Exited() {}

// Entering ends a blocked or offline state. See Exited.
func (v *VCPU) Entering() {
	if v.leaving.Load() {
		v.leaving.Store(false)
	}
	v.run.change(v.d, abi.RunstateRunning)
}

// waiting enters the state that goes with an outcome.
func (v *VCPU) waiting(k OutcomeKind) {
	switch k {
	case Block, Poll:
		v.run.change(v.d, abi.RunstateBlocked)
	case Offline:
		v.run.change(v.d, abi.RunstateOffline)
	}
}
