// SPDX-License-Identifier: Apache-2.0

package vcpu

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"xenvmm/vmm/kvm"
)

func TestHypercallIsA32BitOutAndNothingElse(t *testing.T) {
	m := newFakeMachine()
	_, f := start(t, 1, m)
	<-f[0].entered
	f[0].push(ioOut(0xfa, 1, 1), ioOut(0xfa, 4, 2), ioOut(0xfb, 4, 1), ioOut(0xfa, 4, 1), ioOut(0x80, 1, 1))
	for _, want := range []uint16{0xfa, 0xfa, 0xfb, 0x80} {
		if got := <-m.ports; got != want {
			t.Errorf("port %#x served, want %#x", got, want)
		}
	}
	<-f[0].entered
	if n := m.calls.Load(); n != 1 {
		t.Errorf("%d hypercalls, want 1", n)
	}
	if f[0].regs.RAX != 0x1234 || f[0].dirty != 1 {
		t.Errorf("RAX %#x, marked dirty %d times; want the result, once", f[0].regs.RAX, f[0].dirty)
	}
}

func TestEveryFatalExitStopsTheMachineWithItsReason(t *testing.T) {
	for _, c := range []struct {
		exit   kvm.Exit
		reason StopReason
		text   string
	}{
		{kvm.Exit{Reason: kvm.ExitShutdown}, StopTripleFault, "triple fault"},
		{kvm.Exit{Reason: kvm.ExitInternalError, Internal: kvm.InternalError{Suberror: 3}}, StopEmulation, "suberror 3"},
		{kvm.Exit{Reason: kvm.ExitInternalError, Internal: kvm.InternalError{Suberror: 1, N: 3, Data: [16]uint64{1, 0xc1010f03}}}, StopEmulation, "0f 01 c1"},
		{kvm.Exit{Reason: kvm.ExitFailEntry, FailEntry: kvm.FailEntry{HardwareReason: 0x80000021, CPU: 1}}, StopEntry, "0x80000021"},
		{kvm.Exit{Reason: kvm.ExitSystemEvent, SystemEvent: kvm.SystemEvent{Type: 2}}, StopSystemEvent, "system event 2"},
		{kvm.Exit{Reason: kvm.ExitTDX}, StopUnknownExit, "unexpected exit"},
		{kvm.Exit{Reason: kvm.ExitIO, Err: kvm.ErrMalformed}, StopHost, "malformed"},
	} {
		g, f := start(t, 2, newFakeMachine())
		f[1].regs.RIP = 0xfeed
		f[1].push(c.exit)
		<-g.Done()
		s := g.Reason()
		if s.Reason != c.reason || s.VCPU != 1 || s.RIP != 0xfeed || !strings.Contains(s.Detail, c.text) {
			t.Errorf("%s: stopped with %+v, want %v on vcpu 1 at 0xfeed with %q", c.exit.Reason, *s, c.reason, c.text)
		}
	}
}

func TestFailedRunIsAHostErrorAndInterruptionsAreNot(t *testing.T) {
	m := newFakeMachine()
	g, f := start(t, 1, m)
	<-f[0].entered
	f[0].locked(func() { f[0].runErr = unix.EAGAIN })
	for g.Kick(0); m.resets.Load() == 0; {
		runtime.Gosched() // a vCPU that has had an INIT is told of
	}
	f[0].locked(func() { f[0].runErr = unix.EFAULT })
	g.Kick(0)
	<-g.Done()
	if s := g.Reason(); s.Reason != StopHost || !errors.Is(s.Err, unix.EFAULT) {
		t.Errorf("stopped with %+v, want a host error that wraps EFAULT", *s)
	}
}

func TestPauseReturnsOnlyWhenNobodyIsInTheGuest(t *testing.T) {
	g, f := start(t, 4, newFakeMachine())
	for _, k := range f {
		<-k.entered
	}
	for range 200 {
		resume := g.Pause()
		inner := g.Pause()
		inner()
		for i, k := range f {
			k.locked(func() {
				if k.inRun {
					t.Errorf("vcpu %d is in the guest while paused", i)
				}
			})
		}
		resume()
		resume() // harmless
		for _, k := range f {
			<-k.entered
		}
	}
}

func TestPausesFromManyThreadsAtOnce(t *testing.T) {
	g, f := start(t, 2, newFakeMachine())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				resume := g.Pause()
				for i, k := range f {
					k.locked(func() {
						if k.inRun {
							t.Errorf("vcpu %d is in the guest while paused", i)
						}
					})
				}
				resume()
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for {
		select {
		case <-f[0].entered: // keep the channels from filling
		case <-f[1].entered:
		case <-done:
			return
		}
	}
}

func TestDoRunsOnThatThreadEvenWhilePaused(t *testing.T) {
	g, f := start(t, 2, newFakeMachine())
	<-f[1].entered
	check := func() {
		t.Helper()
		var tid int
		if err := g.Do(1, func(k KVM) error {
			tid = unix.Gettid()
			if k != KVM(f[1]) {
				t.Error("got another vcpu's handle")
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if int32(tid) != g.cpus[1].tid.Load() {
			t.Error("ran on another thread")
		}
	}
	check()
	resume := g.Pause()
	check()
	resume()
	if err := g.Do(2, nil); err == nil || !strings.Contains(err.Error(), "vcpu 2 does not exist") {
		t.Errorf("Do for a vcpu that does not exist: %v", err)
	}
}

func TestTwoVCPUsMayDoThingsForEachOther(t *testing.T) {
	m := newFakeMachine()
	var g *Group
	var ready sync.WaitGroup
	ready.Add(2)
	var once [2]sync.Once
	m.inCall = func(vcpu int) {
		once[vcpu].Do(func() { ready.Done() })
		ready.Wait() // both are in a hypercall now
		for range 100 {
			if err := g.Do(1-vcpu, func(KVM) error { return nil }); err != nil {
				t.Error(err)
			}
		}
		if err := g.Do(vcpu, func(KVM) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	group, f := start(t, 2, m)
	g = group
	f[0].push(ioOut(0xfa, 4, 1), ioOut(0x1, 1, 1))
	f[1].push(ioOut(0xfa, 4, 1), ioOut(0x2, 1, 1))
	<-m.ports
	<-m.ports
}

func TestDoOnAStoppedMachineFails(t *testing.T) {
	g, f := start(t, 1, newFakeMachine())
	<-f[0].entered
	g.Stop(Stop{Reason: StopRequested, Code: 3})
	g.Stop(Stop{Reason: StopTripleFault}) // the first reason stays
	g.wg.Wait()
	if err := g.Do(0, func(KVM) error { return nil }); !errors.Is(err, ErrStopped) {
		t.Errorf("Do: %v, want ErrStopped", err)
	}
	if s := g.Reason(); s.Reason != StopRequested || s.Code != 3 {
		t.Errorf("stopped with %+v, want the first reason", *s)
	}
}

func TestWaitEndsByWakeOrByAnInterrupt(t *testing.T) {
	m := newFakeMachine()
	m.action = Wait
	g, f := start(t, 1, m)
	<-f[0].entered // runs, with nothing to leave for
	f[0].push(ioOut(0xfa, 4, 1))
	<-f[0].entered // halted in KVM
	if s, _ := f[0].MPState(); s != kvm.MPHalted {
		t.Fatalf("state %d while waiting, want halted", s)
	}
	g.Kick(0) // no reason to go on
	<-f[0].entered
	if len(m.waitsOver) != 0 {
		t.Fatal("a kick ended the wait")
	}
	g.Wake(0)
	<-m.waitsOver
	<-f[0].entered
	if s, _ := f[0].MPState(); s != kvm.MPRunnable {
		t.Errorf("state %d after the wake-up, want runnable", s)
	}
	f[0].push(ioOut(0xfa, 4, 1))
	<-f[0].entered
	f[0].locked(func() { f[0].mp = kvm.MPRunnable; f[0].queue = append(f[0].queue, ioOut(0x1, 1, 1)) })
	<-m.waitsOver
	<-m.ports
}

func TestWakeDuringTheHypercallIsNotLost(t *testing.T) {
	m := newFakeMachine()
	m.action = Wait
	var g *Group
	m.inCall = func(int) { g.Wake(0) }
	fake := newFakeKVM()
	g = NewGroup([]KVM{fake}, m)
	fake.push(ioOut(0xfa, 4, 1))
	g.Start()
	<-m.waitsOver
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestParkedVCPUWaitsForStartUp(t *testing.T) {
	m := newFakeMachine()
	m.action = Park
	_, f := start(t, 1, m)
	<-f[0].entered
	f[0].push(ioOut(0xfa, 4, 1))
	<-f[0].entered
	if s, _ := f[0].MPState(); s != kvm.MPUninitialized {
		t.Errorf("state %d, want uninitialized", s)
	}
}

func TestInjectionNeedsInterruptsOnAndNothingInTheWay(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*fakeKVM)
		can  bool
	}{
		{"interrupts on", func(*fakeKVM) {}, true},
		{"interrupts off", func(f *fakeKVM) { f.regs.RFLAGS = 0 }, false},
		{"after STI", func(f *fakeKVM) { f.events.I.Shadow = kvm.ShadowSTI }, false},
		{"another interrupt injected", func(f *fakeKVM) { f.events.I.Inject = 1 }, false},
		{"NMI injected", func(f *fakeKVM) { f.events.N.Inject = 1 }, false},
		{"exception pending", func(f *fakeKVM) { f.events.E.Pending = 1 }, false},
		{"halted", func(f *fakeKVM) { f.mp = kvm.MPHalted }, true},
		{"not started", func(f *fakeKVM) { f.mp = kvm.MPUninitialized }, false},
	} {
		f := newFakeKVM()
		f.regs.RFLAGS = 1 << 9
		c.set(f)
		v := newVCPU(nil, 0, f, nil)
		if got := v.CanInject(); got != c.can {
			t.Errorf("%s: CanInject %v, want %v", c.name, got, c.can)
		}
		if !c.can {
			continue
		}
		if err := v.Inject(0xf3); err != nil {
			t.Fatal(err)
		}
		if f.events.I.Inject != 1 || f.events.I.Nr != 0xf3 || f.mp != kvm.MPRunnable {
			t.Errorf("%s: injected %+v in state %d", c.name, f.events.I, f.mp)
		}
	}
}

func TestMSRsAreAnsweredOrFault(t *testing.T) {
	m := newFakeMachine()
	_, f := start(t, 1, m)
	<-f[0].entered
	f[0].push(
		kvm.Exit{Reason: kvm.ExitRDMSR, MSR: kvm.MSRAccess{Index: 0x40000000}},
		kvm.Exit{Reason: kvm.ExitWRMSR, MSR: kvm.MSRAccess{Index: 0x1, Write: true}},
		kvm.Exit{Reason: kvm.ExitMMIO, MMIO: kvm.MMIOExit{GPA: 0xd0000000, Data: make([]byte, 8), Len: 4}},
		kvm.Exit{Reason: kvm.ExitIRQWindowOpen},
	)
	if gpa := <-m.mmio; gpa != 0xd0000000 {
		t.Errorf("MMIO at %#x", gpa)
	}
	<-f[0].entered
}
