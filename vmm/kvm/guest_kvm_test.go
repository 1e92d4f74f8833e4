// SPDX-License-Identifier: Apache-2.0

package kvm_test

import (
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"xenvmm/vmm/kvm"
	"xenvmm/vmm/kvm/kvmtest"
)

const (
	guestRAM  = kvmtest.MinRAM
	pml4      = kvmtest.PML4
	code      = kvmtest.Code
	data      = kvmtest.Data
	donePort  = kvmtest.DonePort
	isrPort   = kvmtest.ISRPort
	faultPort = kvmtest.FaultPort
)

var le = binary.LittleEndian

type guest struct {
	t   *testing.T
	vm  *kvm.VM
	cpu *kvm.VCPU
	mem []byte
	tid int
	sys *kvm.System
}

// newGuest makes a VM with one vCPU that starts at program, on this thread.
// setup runs before the vCPU is made.
func newGuest(t *testing.T, program []byte, setup func(*kvm.VM)) *guest {
	t.Helper()
	g := &guest{t: t, sys: kvmtest.Open(t)}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	g.tid = unix.Gettid()
	var err error
	g.vm, err = g.sys.CreateVM()
	g.must(err)
	t.Cleanup(func() { g.must(g.vm.Close()) })
	g.mem, err = unix.Mmap(-1, 0, guestRAM, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	g.must(err)
	t.Cleanup(func() { g.must(unix.Munmap(g.mem)) })
	g.must(g.vm.SetUserMemoryRegion(0, 0, 0, guestRAM, hva(g.mem)))
	g.must(g.vm.SetTSSAddr(0xfffbd000))
	if setup != nil {
		setup(g.vm)
	}
	g.cpu, err = g.vm.CreateVCPU(0)
	g.must(err)
	t.Cleanup(func() { g.must(g.cpu.Close()) })
	ids, err := g.sys.SupportedCPUID()
	g.must(err)
	g.must(g.cpu.SetCPUID(ids))
	g.must(kvmtest.Boot64(g.cpu, func(p []byte, gpa uint64) error { copy(g.mem[gpa:], p); return nil }, program))
	return g
}

func (g *guest) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// enableLAPIC software-enables the local APIC, or not, and makes the vCPU run.
func (g *guest) enableLAPIC(on bool) {
	g.t.Helper()
	var l kvm.LAPICState
	g.must(g.cpu.LAPIC(&l))
	spiv := uint32(0xff)
	if on {
		spiv |= 1 << 8
	}
	le.PutUint32(l.Regs[0xf0:], spiv)
	g.must(g.cpu.SetLAPIC(&l))
	g.must(g.cpu.SetMPState(kvm.MPRunnable))
}

// run enters the guest until an exit to look at, at most for five seconds.
func (g *guest) run() *kvm.Exit {
	g.t.Helper()
	w := time.AfterFunc(5*time.Second, func() { g.kick() })
	defer w.Stop()
	for {
		err := g.cpu.Run()
		if errors.Is(err, unix.EINTR) && w.Stop() {
			w.Reset(5 * time.Second) // some other signal
			continue
		}
		if errors.Is(err, unix.EINTR) {
			var r kvm.Regs
			_ = g.cpu.Regs(&r)
			g.t.Fatalf("guest is stuck at %#x", r.RIP)
		}
		g.must(err)
		e := g.cpu.Exit()
		g.must(e.Err)
		return e
	}
}

func (g *guest) kick() {
	g.cpu.SetImmediateExit(true)
	_ = unix.Tgkill(os.Getpid(), g.tid, unix.SIGURG)
}

// expectOut runs until an OUT to port and gives its data.
func (g *guest) expectOut(port uint16) []byte {
	g.t.Helper()
	e := g.run()
	if e.Reason != kvm.ExitIO || !e.IO.Out || e.IO.Port != port {
		g.t.Fatalf("exit %v %+v (internal %+v, fail entry %+v), want OUT to %#x", e.Reason, e.IO, e.Internal, e.FailEntry, port)
	}
	return e.IO.Data
}

func (g *guest) need(caps ...kvm.Cap) {
	g.t.Helper()
	for _, c := range caps {
		n, err := g.vm.CheckExtension(c)
		g.must(err)
		if n == 0 {
			g.t.Skipf("host KVM has no %v", c)
		}
	}
}

func split(t *testing.T) func(*kvm.VM) {
	return func(v *kvm.VM) {
		t.Helper()
		if err := v.SplitIRQChip(24); err != nil {
			t.Fatal(err)
		}
	}
}
