// SPDX-License-Identifier: Apache-2.0

package vcpu

import (
	"time"

	"xenvmm/vmm/kvm"
)

// Snapshot is where a vCPU is and what it has before it, for people who want to
// know why a guest does not get on.
type Snapshot struct {
	// Exits is the number of exits to this program, of those a KVM handles
	// itself (such as HLT) none, nor that of a triple fault; LastExit is the
	// reason of the last one and LastRIP where it was, before or behind the
	// instruction.
	Exits    uint64
	LastExit kvm.ExitReason
	LastRIP  uint64

	// Answered is false if the vCPU's thread did not answer in time, because it is
	// busy outside the guest. What follows is then not known.
	Answered bool
	// Waiting is set from a hypercall that waits until the vCPU goes on.
	Waiting bool
	State   kvm.MPState
	RIP     uint64
	RFLAGS  uint64
	CS      uint16
	CPL     uint8
	Events  kvm.VCPUEvents
	LAPIC   kvm.LAPICState

	// Err is the first KVM call that failed; what came before it is known.
	Err error
}

// Snapshots makes every vCPU leave the guest for a moment and tells where it was.
// What a vCPU has not answered within limit is not waited for. It must not be
// called by a vCPU's thread.
func (g *Group) Snapshots(limit time.Duration) []Snapshot {
	answers := make([]chan Snapshot, len(g.cpus))
	for i, v := range g.cpus {
		// Buffered: a thread that answers late does not wait for anybody.
		answer := make(chan Snapshot, 1)
		v.post(&operation{
			f:    func(k KVM) error { answer <- v.look(k); return nil },
			done: make(chan error, 1),
		})
		answers[i] = answer
	}
	over := make(chan struct{})
	defer time.AfterFunc(limit, func() { close(over) }).Stop()
	out := make([]Snapshot, len(g.cpus))
	for i, v := range g.cpus {
		select {
		case out[i] = <-answers[i]:
		case <-g.done:
		case <-over:
		}
		out[i].Exits, out[i].LastExit, out[i].LastRIP = v.exits.read()
	}
	return out
}

// LastSnapshots tells where every vCPU was when the group stopped. To be called
// after Wait and before Close, while no thread of the group runs.
func (g *Group) LastSnapshots() []Snapshot {
	out := make([]Snapshot, len(g.cpus))
	for i, v := range g.cpus {
		out[i] = v.look(v.kvm)
		out[i].Exits, out[i].LastExit, out[i].LastRIP = v.exits.read()
	}
	return out
}

// look takes a snapshot on v's thread.
func (v *VCPU) look(k KVM) (s Snapshot) {
	s.Answered, s.Waiting = true, v.waiting
	var r kvm.Regs
	if s.Err = k.Regs(&r); s.Err != nil {
		return s
	}
	s.RIP, s.RFLAGS = r.RIP, r.RFLAGS
	var sr kvm.Sregs
	if s.Err = k.Sregs(&sr); s.Err != nil {
		return s
	}
	s.CS, s.CPL = sr.CS.Selector, sr.SS.DPL
	if s.State, s.Err = k.MPState(); s.Err != nil {
		return s
	}
	if s.Err = k.Events(&s.Events); s.Err != nil {
		return s
	}
	s.Err = k.LAPIC(&s.LAPIC)
	return s
}
