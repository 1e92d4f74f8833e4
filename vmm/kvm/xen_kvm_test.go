// SPDX-License-Identifier: Apache-2.0

package kvm_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"xenvmm/vmm/kvm"
)

// xenOn makes the VM intercept hypercalls, and skips where something is lacking.
func xenOn(t *testing.T, want kvm.XenFlags) func(*kvm.VM) {
	return func(v *kvm.VM) {
		t.Helper()
		n, err := v.CheckExtension(kvm.CapXenHVM)
		if have := kvm.XenFlags(n); err != nil || have&want != want {
			t.Skipf("host KVM has XEN_HVM %#x, want %#x (CONFIG_KVM_XEN): %v", n, uint32(want), err)
		}
		if err := v.CreateIRQChip(); err != nil {
			t.Fatal(err)
		}
		if err := v.XenHVMConfig(kvm.XenHVMConfig{Flags: kvm.XenInterceptHcall, MSR: 0x40000000}); err != nil {
			t.Fatal(err)
		}
	}
}

// hypercall is mov $nr,%eax; mov $cmd,%edi; mov $arg,%esi; vmmcall.
func hypercall(nr, cmd, arg uint32) []byte {
	p := le.AppendUint32([]byte{0xb8}, nr)
	p = le.AppendUint32(append(p, 0xbf), cmd)
	p = le.AppendUint32(append(p, 0xbe), arg)
	return append(p, 0x0f, 0x01, 0xd9)
}

// done is out %eax,$donePort; hlt.
var done = []byte{0xe7, donePort, 0xf4}

// KVM answers some calls by itself when it intercepts them; package vmm builds
// on knowing which. A poll is one of them, and is not one: without the kernel's
// own event channels it is a yield, whatever its arguments are.
func TestKVMXenPollsAndYieldsDoNotReachUserSpace(t *testing.T) {
	const schedOp, schedYield, schedPoll, schedShutdown = 29, 0, 3, 2
	for _, c := range []struct {
		name string
		cmd  uint32
		arg  uint32
	}{
		{"yield", schedYield, 0}, {"poll", schedPoll, data}, {"poll with a bad pointer", schedPoll, 0xfffffff0},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGuest(t, append(hypercall(schedOp, c.cmd, c.arg), done...), xenOn(t, kvm.XenInterceptHcall))
			le.PutUint32(g.mem[data+8:], 1000) // more ports than a poll may have
			if d := g.expectOut(donePort); le.Uint32(d) != 0 {
				t.Errorf("answer %#x, want 0", le.Uint32(d))
			}
		})
	}
	g := newGuest(t, append(hypercall(schedOp, schedShutdown, 0), done...), xenOn(t, kvm.XenInterceptHcall))
	if e := g.run(); e.Reason != kvm.ExitXen || e.Xen.Input != schedOp || e.Xen.Params[0] != schedShutdown {
		t.Errorf("shutdown: %v %+v", e.Reason, e.Xen)
	}
}

// The exit tells the ring and the calling convention, for who must not trust
// the guest with either.
func TestKVMXenExitTellsRingAndRegisters(t *testing.T) {
	g := newGuest(t, append(hypercall(12, 7, 0x1234), done...), xenOn(t, kvm.XenInterceptHcall))
	e := g.run()
	x := &e.Xen
	if e.Reason != kvm.ExitXen || !x.LongMode || x.CPL != 0 || x.Input != 12 || x.Params[0] != 7 || x.Params[1] != 0x1234 {
		t.Fatalf("%v %+v", e.Reason, *x)
	}
	x.Complete(^uint64(0))
	if d := g.expectOut(donePort); le.Uint32(d) != 0xffffffff {
		t.Errorf("eax %#x", le.Uint32(d))
	}
}

// KVM turns the other vendor's instruction into its own, so that both arrive.
func TestKVMXenBothInstructionsAreIntercepted(t *testing.T) {
	for name, insn := range map[string][]byte{"vmcall": {0x0f, 0x01, 0xc1}, "vmmcall": {0x0f, 0x01, 0xd9}} {
		t.Run(name, func(t *testing.T) {
			// mov $17,%eax; vmcall or vmmcall
			g := newGuest(t, append(append([]byte{0xb8, 17, 0, 0, 0}, insn...), done...), xenOn(t, kvm.XenInterceptHcall))
			if e := g.run(); e.Reason != kvm.ExitXen || e.Xen.Input != 17 {
				t.Fatalf("%v %+v", e.Reason, e.Xen)
			}
			g.expectOut(donePort)
		})
	}
}

// Where a kernel-delivered event shows: pending bits in shared_info at data,
// selector and upcall flag in a vcpu_info in the page behind.
const (
	sharedInfo = data
	vcpuInfo   = data + 0x1000
	pendingAt  = sharedInfo + 0x800
	upcall     = 0x41
)

// deliverable is a halted guest with everything told to the kernel.
func deliverable(t *testing.T, program []byte, byHVA bool) *guest {
	t.Helper()
	want := kvm.XenInterceptHcall | kvm.XenSharedInfo | kvm.XenEvtchn2Level | kvm.XenEvtchnSend
	if byHVA {
		want |= kvm.XenSharedInfoHVA
	}
	g := newGuest(t, program, xenOn(t, want))
	g.enableLAPIC(true)
	g.must(g.vm.XenSetLongMode(true))
	if byHVA {
		g.must(g.vm.XenSetSharedInfoHVA(hva(g.mem[sharedInfo:])))
		g.must(g.cpu.XenSetVCPUInfoHVA(hva(g.mem[vcpuInfo:])))
	} else {
		g.must(g.vm.XenSetSharedInfo(sharedInfo >> 12))
		g.must(g.cpu.XenSetVCPUInfo(vcpuInfo))
	}
	g.must(g.cpu.XenSetVCPUUpcallVector(upcall))
	return g
}

// took takes an event as a guest does, after its upcall ran.
func (g *guest) took(port uint32) {
	g.t.Helper()
	g.expectOut(isrPort)
	word, sel := g.mem[pendingAt+port/64*8:], g.mem[vcpuInfo+8:]
	if le.Uint64(word) != 1<<(port%64) || le.Uint64(sel) != 1<<(port/64) || g.mem[vcpuInfo] != 1 {
		g.t.Fatalf("pending %#x, selector %#x, upcall %d", le.Uint64(word), le.Uint64(sel), g.mem[vcpuInfo])
	}
	le.PutUint64(word, 0)
	le.PutUint64(sel, 0)
	g.mem[vcpuInfo] = 0
}

func TestKVMXenEventsReachTheGuest(t *testing.T) {
	for name, byHVA := range map[string]bool{"shared_info by frame": false, "by host address": true} {
		t.Run(name, func(t *testing.T) {
			g := deliverable(t, haltLoop, byHVA)
			g.must(g.vm.XenEvtchnSend(77, 0))
			g.took(77)

			fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
			g.must(err)
			defer unix.Close(fd)
			g.must(g.vm.SetGSIRouting([]kvm.Route{kvm.ToXenEvtchn(40, 200, 0)}))
			g.must(g.vm.IRQFD(fd, 40, kvm.IRQFDOpts{}))
			for range 2 {
				_, err = unix.Write(fd, le.AppendUint64(nil, 1))
				g.must(err)
				g.took(200)
			}
			g.must(g.vm.IRQFD(fd, 40, kvm.IRQFDOpts{Deassign: true}))
			_, err = unix.Write(fd, le.AppendUint64(nil, 1))
			g.must(err)
			if w := le.Uint64(g.mem[pendingAt+200/64*8:]); w != 0 {
				t.Errorf("an event came by an irqfd that was taken away: %#x", w)
			}
			// What was written meanwhile is not lost.
			g.must(g.vm.IRQFD(fd, 40, kvm.IRQFDOpts{}))
			g.took(200)
		})
	}
}

// A guest's send on a port that the kernel knows does not exit.
func TestKVMXenSendsStayInTheKernel(t *testing.T) {
	const evtchnOp, send, ipi, interdomain = 32, 4, 5, 2
	program := append([]byte{0xfb}, hypercall(evtchnOp, send, data+0x2000)...) // sti first
	program = append(program, done...)
	for _, c := range []struct {
		name string
		port kvm.XenPort
		took uint32
	}{
		{"to itself", kvm.XenPort{Send: 9, Type: ipi, Port: 9}, 9},
		{"to a peer", kvm.XenPort{Send: 9, Type: interdomain, Port: 130}, 130},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := deliverable(t, program, false)
			le.PutUint32(g.mem[data+0x2000:], 9)
			g.must(g.vm.XenSetPort(c.port))
			g.took(c.took)
			if d := g.expectOut(donePort); le.Uint32(d) != 0 {
				t.Errorf("send: %#x", le.Uint32(d))
			}
		})
	}
	t.Run("to an eventfd", func(t *testing.T) {
		g := deliverable(t, program, false)
		le.PutUint32(g.mem[data+0x2000:], 9)
		fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
		g.must(err)
		defer unix.Close(fd)
		g.must(g.vm.XenSetPort(kvm.XenPort{Send: 9, Type: interdomain, EventFD: fd}))
		g.expectOut(donePort)
		var b [8]byte
		if _, err := unix.Read(fd, b[:]); err != nil || le.Uint64(b[:]) != 1 {
			t.Errorf("eventfd holds %d, %v", le.Uint64(b[:]), err)
		}
		g.must(g.vm.XenResetPorts())
	})
	t.Run("on an unknown port", func(t *testing.T) {
		g := deliverable(t, program, false)
		if e := g.run(); e.Reason != kvm.ExitXen || e.Xen.Input != evtchnOp {
			t.Errorf("%v %+v", e.Reason, e.Xen)
		}
	})
}
