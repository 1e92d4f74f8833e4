// SPDX-License-Identifier: Apache-2.0

package kvm_test

import (
	"testing"

	"xenvmm/vmm/kvm"
)

func TestKVMStateRoundTrips(t *testing.T) {
	g := newGuest(t, []byte{0xe6, donePort}, split(t))
	g.must(g.cpu.SetDebugRegs(&kvm.DebugRegs{DR6: 0xffff0ff0, DR7: 0x400}))
	var (
		d    kvm.DebugRegs
		f    kvm.FPU
		x    kvm.XCRS
		e    kvm.VCPUEvents
		l    kvm.LAPICState
		regs kvm.Regs
	)
	for _, err := range []error{g.cpu.DebugRegs(&d), g.cpu.FPU(&f), g.cpu.XCRS(&x), g.cpu.Events(&e), g.cpu.LAPIC(&l), g.cpu.Regs(&regs)} {
		g.must(err)
	}
	if d.DR7 != 0x400 || f.FCW == 0 || regs.RBX != 0xd0000000 {
		t.Errorf("dr7 %#x fcw %#x rbx %#x", d.DR7, f.FCW, regs.RBX)
	}
	for _, err := range []error{g.cpu.SetFPU(&f), g.cpu.SetEvents(&e), g.cpu.SetLAPIC(&l)} {
		g.must(err)
	}
	b := make([]byte, 4096)
	g.must(g.cpu.XSave(b))
	g.must(g.cpu.SetXSave(b))
	if err := g.cpu.XSave(b[:100]); err == nil {
		t.Error("short XSAVE buffer accepted")
	}
	g.must(g.cpu.SetMPState(kvm.MPHalted))
	if s, err := g.cpu.MPState(); err != nil || s != kvm.MPHalted {
		t.Errorf("mp state %d, %v", s, err)
	}
	if khz, err := g.cpu.TSCKHz(); err != nil || khz == 0 {
		t.Errorf("tsc %d kHz, %v", khz, err)
	}
	if tr, ok, err := g.cpu.Translate(0x123456); err != nil || !ok || tr.Physical != 0x123456 {
		t.Errorf("translate: %+v %v %v", tr, ok, err)
	}
	if ids, err := g.cpu.CPUID(); err != nil || len(ids) == 0 {
		t.Errorf("cpuid: %d, %v", len(ids), err)
	}
	if list, err := g.sys.MSRIndexList(); err != nil || len(list) == 0 {
		t.Errorf("msr list: %d, %v", len(list), err)
	}
	m := []kvm.MSREntry{{Index: 0x10}, {Index: 0xdeadbeef}}
	if err := g.cpu.MSRs(m); err == nil {
		t.Error("unknown MSR read")
	}
	g.must(g.cpu.MSRs(m[:1]))
}

func TestKVMClockFollowsSetClock(t *testing.T) {
	g := newGuest(t, []byte{0xe6, donePort}, nil)
	const at = 123_456_789_000
	g.must(g.vm.SetClock(kvm.ClockData{Clock: at}))
	c, err := g.vm.GetClock()
	g.must(err)
	if c.Clock < at || c.Clock > at+10_000_000_000 {
		t.Errorf("clock %d", c.Clock)
	}
	if n, _ := g.vm.CheckExtension(kvm.CapAdjustClock); n&kvm.ClockRealtime != 0 && c.Flags&kvm.ClockRealtime != 0 && c.Realtime == 0 {
		t.Errorf("realtime flag without a time: %+v", c)
	}
}

// KVM keeps a pvclock record where SYSTEM_TIME_NEW says, without any CPUID leaf.
func TestKVMSystemTimeIsWrittenAtTheNextRun(t *testing.T) {
	g := newGuest(t, []byte{0xe6, donePort}, split(t))
	const at = data + 0x20
	g.must(g.cpu.SetMSRs([]kvm.MSREntry{{Index: 0x4b564d01, Data: at | 1}}))
	g.enableLAPIC(true)
	g.expectOut(donePort)
	if v, mul := le.Uint32(g.mem[at:]), le.Uint32(g.mem[at+24:]); v == 0 || v&1 != 0 || mul == 0 {
		t.Errorf("version %d, mul %d", v, mul)
	}
}

func TestKVMHypercallInsnQuirkCanBeDisabled(t *testing.T) {
	g := newGuest(t, []byte{0x0f, 0x0b}, func(v *kvm.VM) {
		n, err := v.CheckExtension(kvm.CapDisableQuirks2)
		if err != nil || n&kvm.QuirkFixHypercallInsn == 0 {
			t.Skipf("no such quirk bit here: %#x, %v", n, err)
		}
		if err := v.DisableQuirks(kvm.QuirkFixHypercallInsn); err != nil {
			t.Fatal(err)
		}
	})
	g.expectOut(faultPort)
}

func TestKVMXenHypercallIntercept(t *testing.T) {
	// mov $17,%eax; vmmcall; mov %rax,data; out %al,$donePort
	program := []byte{0xb8, 17, 0, 0, 0, 0x0f, 0x01, 0xd9, 0x48, 0x89, 0x04, 0x25, 0x00, 0x00, 0x03, 0x00, 0xe6, donePort}
	g := newGuest(t, program, func(v *kvm.VM) {
		n, err := v.CheckExtension(kvm.CapXenHVM)
		if err != nil || kvm.XenFlags(n)&kvm.XenInterceptHcall == 0 {
			t.Skipf("host KVM has no Xen hypercall interception: %#x, %v", n, err)
		}
		if err := v.XenHVMConfig(kvm.XenHVMConfig{Flags: kvm.XenInterceptHcall, MSR: 0x40000000}); err != nil {
			t.Fatal(err)
		}
	})
	g.must(g.vm.XenSetLongMode(true))
	e := g.run()
	if e.Reason != kvm.ExitXen || e.Xen.Type != kvm.XenExitHcall || e.Xen.Input != 17 || e.Xen.CPL != 0 || !e.Xen.LongMode {
		t.Fatalf("%v %+v", e.Reason, e.Xen)
	}
	e.Xen.Complete(^uint64(37))
	g.expectOut(donePort)
	if got := le.Uint64(g.mem[data:]); got != ^uint64(37) {
		t.Errorf("rax %#x", got)
	}
}
