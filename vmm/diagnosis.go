// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"time"

	"xenvmm/vmm/kvm"
	"xenvmm/vmm/vcpu"
	"xenvmm/xenshim"
)

// Bounds of a Diagnosis. The time is for all vCPUs together, and again for the
// guest's memory; a kicked vCPU answers in milliseconds.
const (
	maxDiagnosed   = 16
	diagnosisLimit = 5 * time.Second
)

// Diagnosis is where a machine's vCPUs were, and what they had before them, when
// its time was over or it could not go on: for people who want to know why. The
// vCPUs have left the guest one by one, so it is not of one instant.
type Diagnosis struct {
	VCPUs []VCPUState `json:"vcpus"` // the first sixteen
	More  int         `json:"vcpus_left_out,omitempty"`
	// Events is what guest memory says of its events, nil if it could not be read
	// in time.
	Events *xenshim.EventState `json:"events"`
}

// VCPUState is one vCPU's part of a Diagnosis.
type VCPUState struct {
	VCPU int `json:"vcpu"`
	// Exits is the number of exits to the monitor (those that KVM serves itself,
	// such as HLT, are not among them, nor is that of a triple fault), LastExit
	// the kernel's name of the last and LastRIP where that was.
	Exits    uint64 `json:"exits"`
	LastExit string `json:"last_exit,omitempty"`
	LastRIP  uint64 `json:"last_exit_rip,omitempty"`
	// Upcall is how it is interrupted for its events; UpcallOwed, that it is to
	// be and could not yet.
	Upcall     string `json:"upcall"`
	UpcallOwed bool   `json:"upcall_owed"`

	// State is "running", "halted" (in HLT), "waiting" (in SCHEDOP_block or poll),
	// "not started", or "busy": its thread is occupied outside the guest and has
	// not answered. Nothing that follows is known of one that is busy.
	State  string `json:"state"`
	RIP    uint64 `json:"rip"`
	CS     uint16 `json:"cs"`
	CPL    uint8  `json:"cpl"`
	RFLAGS uint64 `json:"rflags"`
	// InFlight names events that KVM has not finished delivering, and what keeps
	// others out.
	InFlight []string   `json:"in_flight,omitempty"`
	LAPIC    LAPICState `json:"lapic"`
	// Error is the KVM call that failed; what came before it is known.
	Error string `json:"error,omitempty"`
}

// diagnose asks every vCPU where it is. Not for a vCPU's thread.
func (m *Machine) diagnose() *Diagnosis { return m.explain(m.group.Snapshots(diagnosisLimit)) }

// autopsy is diagnose for a machine whose threads have ended.
func (m *Machine) autopsy() *Diagnosis { return m.explain(m.group.LastSnapshots()) }

func (m *Machine) explain(snaps []vcpu.Snapshot) *Diagnosis {
	d := &Diagnosis{More: max(len(snaps)-maxDiagnosed, 0)}
	for i := range snaps[:min(len(snaps), maxDiagnosed)] {
		v := vcpuState(i, &snaps[i])
		v.Upcall, v.UpcallOwed = m.irq.State(i)
		d.VCPUs = append(d.VCPUs, v)
	}
	// Whatever holds the guest up may hold its memory.
	read := make(chan xenshim.EventState, 1)
	go func() { read <- m.domain.EventState() }()
	select {
	case s := <-read:
		s.VCPUs = s.VCPUs[:len(d.VCPUs)]
		d.Events = &s
	case <-time.After(diagnosisLimit):
	}
	return d
}

func vcpuState(id int, s *vcpu.Snapshot) VCPUState {
	v := VCPUState{VCPU: id, Exits: s.Exits, State: stateName(s)}
	if s.Exits > 0 {
		v.LastExit, v.LastRIP = s.LastExit.String(), s.LastRIP
	}
	if !s.Answered {
		return v
	}
	v.RIP, v.CS, v.CPL, v.RFLAGS = s.RIP, s.CS, s.CPL, s.RFLAGS
	v.InFlight = inFlight(&s.Events)
	v.LAPIC = lapicState(&s.LAPIC)
	if s.Err != nil {
		v.Error = s.Err.Error()
	}
	return v
}

func stateName(s *vcpu.Snapshot) string {
	switch {
	case !s.Answered:
		return "busy"
	case s.Waiting:
		return "waiting"
	case s.State == kvm.MPHalted:
		return "halted"
	case s.State == kvm.MPUninitialized, s.State == kvm.MPInitReceived:
		return "not started"
	}
	return "running"
}
