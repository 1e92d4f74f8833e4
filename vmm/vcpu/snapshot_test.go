// SPDX-License-Identifier: Apache-2.0

package vcpu

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"xenvmm/vmm/kvm"
)

func TestSnapshotTellsWhereEachVCPUIs(t *testing.T) {
	m := newFakeMachine()
	m.action = Wait
	g, f := start(t, 2, m)
	f[0].push(ioOut(0x80, 1, 1), ioOut(0xfa, 4, 1))
	<-m.ports
	for m.calls.Load() == 0 {
		<-f[0].entered
	}
	f[1].locked(func() {
		f[1].regs = kvm.Regs{RIP: 0xfeed, RFLAGS: 0x246}
		f[1].sregs.CS.Selector, f[1].sregs.SS.DPL = 0x2b, 3
		f[1].events.N.Masked = 1
		f[1].lapic.Regs[0x270] = 0x10
	})
	s := g.Snapshots(time.Minute)
	if got := s[0]; !got.Answered || !got.Waiting || got.State != kvm.MPHalted || got.Exits != 2 || got.LastExit != kvm.ExitIO {
		t.Errorf("vcpu 0, in a hypercall that waits after two exits: answered %v, waiting %v, state %d, %d exits, last %v", got.Answered, got.Waiting, got.State, got.Exits, got.LastExit)
	}
	if got := s[1]; !got.Answered || got.Waiting || got.State != kvm.MPRunnable || got.Exits != 0 || got.RIP != 0xfeed || got.RFLAGS != 0x246 ||
		got.CS != 0x2b || got.CPL != 3 || got.Events.N.Masked != 1 || got.LAPIC.Regs[0x270] != 0x10 || got.Err != nil {
		t.Errorf("vcpu 1, running: %+v", got)
	}
}

func TestSnapshotKeepsWhatCameBeforeAFailure(t *testing.T) {
	g, f := start(t, 1, newFakeMachine())
	f[0].locked(func() { f[0].regs.RIP, f[0].lapicErr = 0xfeed, errors.New("no local APIC") })
	if s := g.Snapshots(time.Minute)[0]; s.RIP != 0xfeed || s.Err == nil {
		t.Errorf("RIP %#x, error %v; want the register and the error", s.RIP, s.Err)
	}
}

// A thread that is stuck outside the guest is not waited for, and those that
// come after it are asked all the same.
func TestSnapshotsDoNotWaitForAThreadThatDoesNotAnswer(t *testing.T) {
	stuck, release := make(chan struct{}), make(chan struct{})
	m := newFakeMachine()
	m.inCall = func(int) { close(stuck); <-release }
	g, f := start(t, 2, m)
	f[0].push(ioOut(0xfa, 4, 1))
	<-stuck
	<-f[1].entered
	s := g.Snapshots(time.Second)
	if s[0].Answered || s[0].Exits != 1 || s[0].LastExit != kvm.ExitIO {
		t.Errorf("vcpu 0, stuck in its first exit: answered %v, %d exits, last %v", s[0].Answered, s[0].Exits, s[0].LastExit)
	}
	close(release)
	if s := g.Snapshots(time.Minute); !s[0].Answered || !s[1].Answered {
		t.Errorf("answered %v and %v once nothing is stuck", s[0].Answered, s[1].Answered)
	}
}

func TestLastSnapshotsTellWhereAGroupEnded(t *testing.T) {
	g, f := start(t, 2, newFakeMachine())
	f[1].locked(func() { f[1].regs.RIP = 0xbeef })
	f[0].locked(func() { f[0].regs.RIP = 0xf00d })
	f[0].push(ioOut(0x80, 1, 1), kvm.Exit{Reason: kvm.ExitShutdown})
	g.Wait()
	if r := g.Reason(); r.Reason != StopTripleFault || r.VCPU != 0 {
		t.Fatalf("stopped with %+v", r)
	}
	s := g.LastSnapshots()
	if got := s[0]; !got.Answered || got.RIP != 0xf00d || got.Exits != 1 || got.LastExit != kvm.ExitIO || got.LastRIP != 0xf00d {
		t.Errorf("vcpu 0, dead after its only exit: answered %v, RIP %#x, %d exits, last %v at %#x", got.Answered, got.RIP, got.Exits, got.LastExit, got.LastRIP)
	}
	if got := s[1]; !got.Answered || got.RIP != 0xbeef || got.Exits != 0 {
		t.Errorf("vcpu 1, which went on: answered %v, RIP %#x, %d exits", got.Answered, got.RIP, got.Exits)
	}
}

// Threads that have not been started never answer.
func TestSnapshotsEndWithTheirLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGroup([]KVM{newFakeKVM(), newFakeKVM()}, newFakeMachine())
		begin := time.Now()
		for i, s := range g.Snapshots(2 * time.Second) {
			if s.Answered {
				t.Errorf("vcpu %d answered", i)
			}
		}
		if d := time.Since(begin); d != 2*time.Second {
			t.Errorf("waited %s, want 2 s for all together", d)
		}
		g.Stop(Stop{Reason: StopRequested})
		g.Snapshots(time.Hour) // ends at once
		if d := time.Since(begin); d != 2*time.Second {
			t.Errorf("waited until %s for a group that has stopped", d)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestTallyCountsAndKeepsTheLastReason(t *testing.T) {
	var c tally
	if n, _, _ := c.read(); n != 0 {
		t.Errorf("%d before the first", n)
	}
	for _, r := range []kvm.ExitReason{kvm.ExitIO, kvm.ExitMMIO, kvm.ExitTDX, 0x12345} {
		c.add(r, 0x1000)
	}
	if n, last, rip := c.read(); n != 4 || last != 0xff || rip != 0x1000 {
		t.Errorf("%d exits, last %d at %#x; want 4 and the largest that fits", n, last, rip)
	}
	c.add(kvm.ExitHLT, 0x1001)
	if n, last, rip := c.read(); n != 5 || last != kvm.ExitHLT || rip != 0x1001 {
		t.Errorf("%d exits, last %v at %#x", n, last, rip)
	}
}
