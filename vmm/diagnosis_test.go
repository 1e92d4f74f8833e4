// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"xenvmm/vmm/kvm"
	"xenvmm/vmm/vcpu"
	"xenvmm/xenshim"
)

func TestVCPUStateSaysWhatTheSnapshotHolds(t *testing.T) {
	for _, c := range []struct {
		name  string
		snap  vcpu.Snapshot
		state string
	}{
		{"no answer", vcpu.Snapshot{RIP: 1, State: kvm.MPHalted}, "busy"},
		{"in a hypercall", vcpu.Snapshot{Answered: true, Waiting: true, State: kvm.MPHalted}, "waiting"},
		{"in HLT", vcpu.Snapshot{Answered: true, State: kvm.MPHalted}, "halted"},
		{"before INIT", vcpu.Snapshot{Answered: true, State: kvm.MPUninitialized}, "not started"},
		{"before SIPI", vcpu.Snapshot{Answered: true, State: kvm.MPInitReceived}, "not started"},
		{"in the guest", vcpu.Snapshot{Answered: true}, "running"},
	} {
		if v := vcpuState(3, &c.snap); v.State != c.state || v.VCPU != 3 || v.LastExit != "" {
			t.Errorf("%s: %+v, want %q", c.name, v, c.state)
		}
	}
	s := vcpu.Snapshot{Answered: true, Exits: 5, LastExit: kvm.ExitIO, LastRIP: 0xff0, RIP: 0x1000, RFLAGS: 0x202, CS: 0x2b, CPL: 3, Err: errors.New("no APIC")}
	if v := vcpuState(0, &s); v.Exits != 5 || v.LastExit != kvm.ExitIO.String() || v.LastRIP != 0xff0 || v.RIP != 0x1000 || v.RFLAGS != 0x202 || v.CS != 0x2b || v.CPL != 3 || v.Error != "no APIC" {
		t.Errorf("%+v of %+v", v, s)
	}
}

func TestLAPICState(t *testing.T) {
	var l kvm.LAPICState
	set := func(off int, v uint32) { binary.LittleEndian.PutUint32(l.Regs[off:], v) }
	if s := lapicState(&l); s.Enabled || len(s.Requested)+len(s.InService) != 0 || !strings.HasPrefix(s.String(), "disabled, IRR none, ISR none") {
		t.Errorf("after reset: %s", s)
	}
	set(0xf0, 0x1ff)
	set(0x270, 1<<19|1<<31) // vectors 0xf3 and 0xff
	set(0x200, 1<<31)       // 0x1f
	set(0x160, 1)           // 0xc0
	set(0xa0, 0xc0)
	set(0x320, 0xe8)
	set(0x380, 2000)
	set(0x390, 7)
	s := lapicState(&l)
	if !s.Enabled || !slices.Equal(s.Requested, []int{0x1f, 0xf3, 0xff}) || !slices.Equal(s.InService, []int{0xc0}) {
		t.Errorf("%+v", s)
	}
	if got, want := s.String(), "IRR 0x1f 0xf3 0xff, ISR 0xc0, PPR 0xc0, timer vector 0xe8, 7 of 2000 ticks left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for i := range 8 {
		set(0x200+i*0x10, ^uint32(0))
	}
	if s := lapicState(&l); len(s.Requested) != 256 || !strings.Contains(s.String(), "0x7 and 248 more, ISR") {
		t.Errorf("all vectors: %s", s)
	}
	for lvt, want := range map[uint32]string{0x100e8: "masked", 0x400e8: "vector 0xe8 at a TSC deadline", 0xe8: "vector 0xe8, stopped"} {
		if got := timerText(lvt, 0, 0); got != want {
			t.Errorf("timer register %#x: %q, want %q", lvt, got, want)
		}
	}
}

func TestInFlightNamesEverythingThatIsSet(t *testing.T) {
	var e kvm.VCPUEvents
	if got := inFlight(&e); len(got) != 0 {
		t.Errorf("nothing set: %q", got)
	}
	e.E.Pending, e.E.Inject, e.E.Nr = 1, 1, 14
	e.I.Inject, e.I.Nr, e.I.Shadow = 1, 0xf3, kvm.ShadowSTI|kvm.ShadowMovSS
	e.N.Inject, e.N.Pending, e.N.Masked = 1, 1, 1
	e.S.SMM = 1
	want := []string{
		"exception 14 pending", "exception 14 injected", "interrupt 0xf3 injected", "shadow of STI", "shadow of MOV SS",
		"NMI injected", "NMI pending", "NMIs masked", "in SMM",
	}
	if got := inFlight(&e); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAResetStateIsExplained(t *testing.T) {
	for exits, want := range map[uint64]bool{0: false, 3: true} {
		d := &Diagnosis{VCPUs: []VCPUState{{State: "running", RIP: 0xfff0, CS: 0xf000, Exits: exits}}}
		if got := strings.Contains(strings.Join(d.Lines(), "\n"), "after a reset"); got != want {
			t.Errorf("%d exits: explained %v, want %v", exits, got, want)
		}
	}
}

func TestDiagnosisInLines(t *testing.T) {
	if l := (*Diagnosis)(nil).Lines(); len(l) != 0 {
		t.Errorf("no diagnosis: %q", l)
	}
	d := &Diagnosis{
		VCPUs: []VCPUState{
			{VCPU: 0, State: "halted", RIP: 0x1000, CS: 8, RFLAGS: 0x202, Exits: 7, LastExit: "IO", LastRIP: 0xff0, Upcall: "vector 0xf3", UpcallOwed: true},
			{VCPU: 1, State: "busy", Exits: 9, LastExit: "MMIO", LastRIP: 0xaa, Upcall: "nothing"},
		},
		More: 3,
		Events: &xenshim.EventState{
			SharedInfo: true, SharedInfoGPA: 0x5000, More: 2,
			VCPUs: []xenshim.VCPUEventState{{GPA: 0x6000, Present: true, UpcallPending: 1, PendingSel: 2}, {}},
			Ports: []xenshim.PortWord{{First: 64, Pending: 4, Mask: 8}},
		},
	}
	want := []string{
		"vcpu 0: halted at RIP 0x1000, CS 0x8 (ring 0), RFLAGS 0x202 (interrupts on); 7 exits, last IO at 0xff0",
		"vcpu 0: local APIC: disabled, IRR none, ISR none, PPR 0x0, timer ; in flight: nothing",
		"vcpu 0: vcpu_info at 0x6000: upcall_pending 1, pending_sel 0x2, upcall by vector 0xf3, owed",
		"vcpu 1: its thread is busy outside the guest and does not answer; 9 exits, last MMIO at 0xaa",
		"vcpu 1: no vcpu_info, upcall by nothing",
		"3 vcpus more",
		"shared_info at 0x5000: ports from 64: pending 0x4, mask 0x8",
		"2 words more with pending ports",
	}
	if got := d.Lines(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for what, c := range map[string]*xenshim.EventState{
		"guest memory could not be read in time":    nil,
		"shared_info is not mapped":                 {},
		"shared_info at 0x5000: no port is pending": {SharedInfo: true, SharedInfoGPA: 0x5000},
	} {
		if got := eventLines(c); len(got) != 1 || got[0] != what {
			t.Errorf("%q, want %q", got, what)
		}
	}
	if got := fmt.Sprint((&Diagnosis{}).Lines()); !strings.Contains(got, "could not be read") {
		t.Errorf("empty: %s", got)
	}
}
