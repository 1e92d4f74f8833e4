// SPDX-License-Identifier: Apache-2.0

package kvm_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"xenvmm/vmm/kvm"
)

// sti; 1: hlt; jmp 1b
var haltLoop = []byte{0xfb, 0xf4, 0xeb, 0xfd}

func TestKVMSignalMSI(t *testing.T) {
	for _, full := range []bool{false, true} {
		t.Run(map[bool]string{false: "split", true: "full"}[full], func(t *testing.T) {
			g := newGuest(t, haltLoop, func(v *kvm.VM) {
				if !full {
					split(t)(v)
				} else if err := v.CreateIRQChip(); err != nil {
					t.Fatal(err)
				}
			})
			g.enableLAPIC(false)
			delivered, err := g.vm.SignalMSI(0xfee00000, 0x41)
			g.must(err)
			if delivered {
				t.Error("delivered to a disabled local APIC")
			}
			g.enableLAPIC(true)
			delivered, err = g.vm.SignalMSI(0xfee00000, 0x41)
			g.must(err)
			if !delivered {
				t.Error("not delivered to an enabled local APIC")
			}
			g.expectOut(isrPort)
			if delivered, err = g.vm.SignalMSI(0xfee05000, 0x41); err == nil && delivered {
				t.Error("delivered to a vCPU that does not exist")
			}
		})
	}
}

func TestKVMIRQFD(t *testing.T) {
	g := newGuest(t, haltLoop, split(t))
	g.enableLAPIC(true)
	g.must(g.vm.SetGSIRouting([]kvm.Route{kvm.ToMSI(30, 0xfee00000, 0x42), kvm.ToMSI(31, 0xfee00000, 0x43)}))
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	g.must(err)
	defer unix.Close(fd)
	g.must(g.vm.IRQFD(fd, 30, kvm.IRQFDOpts{}))
	signal := func() {
		_, err := unix.Write(fd, le.AppendUint64(nil, 1))
		g.must(err)
	}
	signal()
	g.expectOut(isrPort)
	signal()
	g.expectOut(isrPort)
	g.must(g.vm.IRQFD(fd, 30, kvm.IRQFDOpts{Deassign: true}))
}

func TestKVMIOEventFDTakesTheWrite(t *testing.T) {
	// out %al,$0x10; mov %eax,(%rbx); out %al,$donePort
	g := newGuest(t, []byte{0xe6, 0x10, 0x89, 0x03, 0xe6, donePort}, nil)
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	g.must(err)
	defer unix.Close(fd)
	port := kvm.IOEvent{Addr: 0x10, Len: 1, FD: fd, PIO: true}
	mmio := kvm.IOEvent{Addr: 0xd0000000, Len: 4, FD: fd, Match: true, DataMatch: 0x11}
	g.must(g.vm.IOEventFD(port))
	g.must(g.vm.IOEventFD(mmio))
	g.expectOut(donePort)
	var b [8]byte
	if _, err := unix.Read(fd, b[:]); err != nil || le.Uint64(b[:]) != 2 {
		t.Errorf("counter %d, %v", le.Uint64(b[:]), err)
	}
	port.Deassign, mmio.Deassign = true, true
	g.must(g.vm.IOEventFD(port))
	g.must(g.vm.IOEventFD(mmio))
}

func TestKVMInjectionByVCPUEvents(t *testing.T) {
	g := newGuest(t, []byte{0xfb, 0xe6, donePort, 0xeb, 0xfc}, split(t)) // sti; 1: out %al,$donePort; jmp 1b
	g.enableLAPIC(true)
	g.expectOut(donePort)
	g.expectOut(donePort) // past the shadow of STI
	g.must(g.completeIO())
	var e kvm.VCPUEvents
	g.must(g.cpu.Events(&e))
	e.I.Inject, e.I.Nr = 1, 0xf3
	g.must(g.cpu.SetEvents(&e))
	g.expectOut(isrPort)
}

// completeIO finishes the instruction of the last exit without running on.
func (g *guest) completeIO() error {
	g.cpu.SetImmediateExit(true)
	err := g.cpu.Run()
	g.cpu.SetImmediateExit(false)
	if err == unix.EINTR {
		return nil
	}
	return err
}
