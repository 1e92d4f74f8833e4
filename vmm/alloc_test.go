// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account.

package vmm

import (
	"io"
	"strings"
	"testing"

	"xenvmm/gpc"
	"xenvmm/vmm/kvm"
	"xenvmm/vmm/memory"
	"xenvmm/vmm/vcpu"
	"xenvmm/xenshim"
	"xenvmm/xenshim/abi"
)

// still is a platform on which nothing happens.
type still struct{ xenshim.Platform }

func (still) Upcall(int)                            {}
func (still) WakePoller(int)                        {}
func (still) GuestTime(int) uint64                  { return 1 }
func (still) WallClock() (uint64, uint32)           { return 1, 0 }
func (still) TSCKHz() uint32                        { return 1 }
func (still) ArmTimer(int, uint64)                  {}
func (still) DisarmTimer(int)                       {}
func (still) SetCallback(xenshim.Callback)          {}
func (still) SetUpcallVector(int, uint8)            {}
func (still) SetSystemTime(int, uint64, bool) error { return nil }

// quiet is a machine without KVM, as far as hypercalls need one.
func quiet(tb testing.TB) *Machine {
	tb.Helper()
	mem, err := memory.New(memory.Config{Size: 32 << 20})
	if err != nil {
		tb.Fatal(err)
	}
	caches, err := gpc.NewSet(mem, gpc.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	mem.AddNotifier(caches)
	d, err := xenshim.New(xenshim.Config{
		VCPUs: 1, Memory: mem, Pages: pageAllocator{mem}, RAM: []xenshim.Range{{GPA: 0, Size: 32 << 20}},
		Caches: caches, Platform: still{},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { d.Close(); mem.Close() })
	m := &Machine{memory: mem, caches: caches, domain: d, scratch: make([]cpuScratch, 1), times: newSystemTimes(1)}
	m.clocks = newVCPUClocks(guestClock{}, m.times, mem)
	m.group = vcpu.NewGroup([]vcpu.KVM{nil}, exits{m})
	m.online = newOnline(m.group)
	return m
}

// yieldCall are the registers of a 64-bit guest that calls SCHEDOP_yield.
func yieldCall() (*kvm.Regs, *kvm.Sregs) {
	s := &kvm.Sregs{CR0: 1, EFER: 1 << 10}
	s.CS.L = 1
	return &kvm.Regs{RAX: abi.HypercallSchedOp, RDI: abi.SchedopYield}, s
}

func TestHypercallExitsAllocateNothing(t *testing.T) {
	e := exits{quiet(t)}
	r, s := yieldCall()
	if n := testing.AllocsPerRun(1000, func() {
		r.RAX = abi.HypercallSchedOp
		if e.Hypercall(0, r, s) != vcpu.Yield || r.RAX != 0 {
			t.Fatalf("the call was not served: RAX %#x", r.RAX)
		}
	}); n != 0 {
		t.Errorf("%v allocations a hypercall, want 0", n)
	}
}

func TestPortAndMMIOExitsAllocateNothing(t *testing.T) {
	m := quiet(t)
	var err error
	if m.devices, err = newDevices(devicesConfig{ram: m.memory.Ranges()}); err != nil {
		t.Fatal(err)
	}
	e := exits{m}
	buf := make([]byte, 4)
	if n := testing.AllocsPerRun(1000, func() {
		e.Port(0, false, 0x70, 1, 1, buf[:1])
		e.Port(0, true, 0x80, 1, 1, buf[:1])
		e.Port(0, false, 0xcfc, 4, 1, buf)
		e.MMIO(0, true, 0xd0000000, buf)
	}); n != 0 {
		t.Errorf("%v allocations for four accesses, want 0", n)
	}
}

func TestLookingAtAVCPUsClockAllocatesNothing(t *testing.T) {
	k, _, _ := aClock()
	k.times.cpus[0].value.Store(0x5020 | 1)
	read := func() (uint64, uint64, error) { return 1000, 0x5021, nil }
	if n := testing.AllocsPerRun(1000, func() { k.look(0, read); k.Until(0, 1) }); n != 0 {
		t.Errorf("%v allocations a timer, want 0", n)
	}
}

func BenchmarkHypercallExit(b *testing.B) {
	e := exits{quiet(b)}
	r, s := yieldCall()
	b.ReportAllocs()
	for b.Loop() {
		r.RAX = abi.HypercallSchedOp
		e.Hypercall(0, r, s)
	}
}

func TestAnEndlessLineAllocatesNothing(t *testing.T) {
	h := &history{}
	w := h.stream(io.Discard)
	long := []byte(strings.Repeat("x", 1<<20))
	_, _ = w.Write(long)
	if n := testing.AllocsPerRun(100, func() { _, _ = w.Write(long) }); n > 0 {
		t.Errorf("%v allocations while an endless line goes on", n)
	}
}
