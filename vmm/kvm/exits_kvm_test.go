// SPDX-License-Identifier: Apache-2.0

package kvm_test

import (
	"testing"

	"xenvmm/vmm/kvm"
	"xenvmm/vmm/kvm/kvmtest"
)

func TestKVMNeededCapabilitiesAreThere(t *testing.T) {
	s := kvmtest.Open(t)
	caps := kvm.Probe(s)
	for _, c := range caps {
		t.Logf("%-40s %#x", c.Name, c.Have)
	}
	if err := kvm.Missing(caps); err != nil {
		t.Error(err)
	}
}

func TestKVMOutExit(t *testing.T) {
	// mov $0x12345678,%eax; out %eax,$0x55; out %al,$donePort
	g := newGuest(t, []byte{0xb8, 0x78, 0x56, 0x34, 0x12, 0xe7, 0x55, 0xe6, donePort}, nil)
	if d := g.expectOut(0x55); len(d) != 4 || le.Uint32(d) != 0x12345678 {
		t.Errorf("data % x", d)
	}
	g.expectOut(donePort)
}

func TestKVMInExitTakesWhatIsWrittenToTheWindow(t *testing.T) {
	// in $0x55,%eax; out %eax,$donePort
	g := newGuest(t, []byte{0xe5, 0x55, 0xe7, donePort}, nil)
	e := g.run()
	if e.Reason != kvm.ExitIO || e.IO.Out || e.IO.Port != 0x55 || len(e.IO.Data) != 4 {
		t.Fatalf("%v %+v", e.Reason, e.IO)
	}
	le.PutUint32(e.IO.Data, 0xcafe1234)
	if d := g.expectOut(donePort); le.Uint32(d) != 0xcafe1234 {
		t.Errorf("guest read % x", d)
	}
}

func TestKVMMMIOExits(t *testing.T) {
	// mov %eax,(%rbx); mov (%rbx),%eax; out %eax,$donePort
	g := newGuest(t, []byte{0x89, 0x03, 0x8b, 0x03, 0xe7, donePort}, nil)
	e := g.run()
	if e.Reason != kvm.ExitMMIO || !e.MMIO.Write || e.MMIO.GPA != 0xd0000000 || e.MMIO.Len != 4 || le.Uint32(e.MMIO.Data) != 0x11 {
		t.Fatalf("write: %v %+v", e.Reason, e.MMIO)
	}
	e = g.run()
	if e.Reason != kvm.ExitMMIO || e.MMIO.Write || e.MMIO.Len != 4 {
		t.Fatalf("read: %v %+v", e.Reason, e.MMIO)
	}
	le.PutUint32(e.MMIO.Data, 0xfeedbeef)
	if d := g.expectOut(donePort); le.Uint32(d) != 0xfeedbeef {
		t.Errorf("guest read % x", d)
	}
}

func TestKVMFilteredMSRsExit(t *testing.T) {
	setup := func(v *kvm.VM) {
		if err := v.EnableUserSpaceMSR(kvm.MSRExitFilter | kvm.MSRExitUnknown | kvm.MSRExitInvalid); err != nil {
			t.Fatal(err)
		}
		if err := v.SetMSRFilter([]kvm.MSRRange{{Base: 0x40000000, N: 256, Read: true, Write: true}}, true); err != nil {
			t.Fatal(err)
		}
	}
	g := newGuest(t, []byte{
		0xb9, 0x00, 0x00, 0x00, 0x40, // mov $0x40000000,%ecx
		0xb8, 0x00, 0x40, 0x23, 0x01, // mov $0x1234000,%eax
		0x31, 0xd2, // xor %edx,%edx
		0x0f, 0x30, // wrmsr
		0x0f, 0x32, // rdmsr
		0xe7, donePort, // out %eax,$donePort
		0x0f, 0x30, // wrmsr, answered by a fault
		0xf4,
	}, setup)
	e := g.run()
	if e.Reason != kvm.ExitWRMSR || !e.MSR.Write || e.MSR.Index != 0x40000000 || e.MSR.Data != 0x1234000 || e.MSR.Reason != kvm.MSRExitFilter {
		t.Fatalf("write: %v %+v", e.Reason, e.MSR)
	}
	e.MSR.Complete(0, false)
	e = g.run()
	if e.Reason != kvm.ExitRDMSR || e.MSR.Write {
		t.Fatalf("read: %v %+v", e.Reason, e.MSR)
	}
	e.MSR.Complete(0x77, false)
	if d := g.expectOut(donePort); le.Uint32(d) != 0x77 {
		t.Errorf("guest read % x", d)
	}
	e = g.run()
	if e.Reason != kvm.ExitWRMSR {
		t.Fatalf("second write: %v", e.Reason)
	}
	e.MSR.Complete(0, true)
	g.expectOut(faultPort)
}

func TestKVMSyncRegsSetRAXWhileRIPIsLeftAlone(t *testing.T) {
	// out %eax,$0x55; mov %rax,data; out %al,$donePort
	g := newGuest(t, []byte{0xe7, 0x55, 0x48, 0x89, 0x04, 0x25, 0x00, 0x00, 0x03, 0x00, 0xe6, donePort}, nil)
	g.need(kvm.CapSyncRegs)
	g.cpu.SetSyncValid(kvm.SyncRegs | kvm.SyncSregs)
	g.expectOut(0x55)
	r := g.cpu.RunRegs()
	if r.RAX != 0x11 || r.RBX != 0xd0000000 || r.RIP != code && r.RIP != code+2 {
		t.Errorf("%+v", *r)
	}
	if s := g.cpu.RunSregs(); s.CR3 != pml4 || s.CS.L != 1 {
		t.Errorf("cr3 %#x cs %+v", s.CR3, s.CS)
	}
	const want = 0xfffffffffffffff2
	r.RAX = want
	g.cpu.MarkRegsDirty()
	g.expectOut(donePort)
	if got := le.Uint64(g.mem[data:]); got != want {
		t.Errorf("rax %#x after the OUT, want %#x", got, uint64(want))
	}
}

func TestKVMTripleFaultIsShutdown(t *testing.T) {
	g := newGuest(t, []byte{0x0f, 0x0b}, nil) // ud2
	var s kvm.Sregs
	g.must(g.cpu.Sregs(&s))
	s.IDT = kvm.Descriptor{}
	g.must(g.cpu.SetSregs(&s))
	if e := g.run(); e.Reason != kvm.ExitShutdown {
		t.Errorf("exit %v", e.Reason)
	}
}
