// SPDX-License-Identifier: Apache-2.0

package memory_test

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
	"xenvmm/vmm/memory"
)

// vcpu is a memory with a VM around it and a vCPU on this thread.
type vcpu struct {
	*memory.Memory
	t   *testing.T
	cpu *kvm.VCPU
	tid int
}

func newVCPU(t *testing.T, program []byte) *vcpu {
	t.Helper()
	sys := kvmtest.Open(t)
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	vm, err := sys.CreateVM()
	v := &vcpu{t: t, tid: unix.Gettid()}
	v.must(err)
	t.Cleanup(func() { v.must(vm.Close()) })
	v.must(vm.SetTSSAddr(0xfffbd000))
	v.Memory, err = memory.New(memory.Config{Size: kvmtest.MinRAM, Slots: vm})
	v.must(err)
	t.Cleanup(func() { v.must(v.Close()) })
	v.cpu, err = vm.CreateVCPU(0)
	v.must(err)
	t.Cleanup(func() { v.must(v.cpu.Close()) })
	ids, err := sys.SupportedCPUID()
	v.must(err)
	v.must(v.cpu.SetCPUID(ids))
	v.must(kvmtest.Boot64(v.cpu, v.WriteAt, program))
	return v
}

func (v *vcpu) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

// run enters the guest until an exit, at most for five seconds.
func (v *vcpu) run() *kvm.Exit {
	v.t.Helper()
	end := time.Now().Add(5 * time.Second)
	w := time.AfterFunc(5*time.Second, func() {
		v.cpu.SetImmediateExit(true)
		_ = unix.Tgkill(os.Getpid(), v.tid, unix.SIGURG)
	})
	defer w.Stop()
	for {
		err := v.cpu.Run()
		if !errors.Is(err, unix.EINTR) {
			v.must(err)
			return v.cpu.Exit()
		}
		if time.Now().After(end) {
			v.t.Fatal("the guest does not exit")
		}
	}
}

// out runs until the guest's next OUT to DonePort and gives its value; ok is
// false if it did an MMIO read instead.
func (v *vcpu) out() (value uint32, ok bool) {
	v.t.Helper()
	e := v.run()
	if e.Reason == kvm.ExitMMIO && !e.MMIO.Write {
		clear(e.MMIO.Data)
		v.out()
		return 0, false
	}
	if e.Reason != kvm.ExitIO || e.IO.Port != kvmtest.DonePort {
		v.t.Fatalf("exit %v %+v", e.Reason, e.IO)
	}
	return binary.LittleEndian.Uint32(e.IO.Data), true
}

func (v *vcpu) setRBX(gpa uint64) {
	v.t.Helper()
	var r kvm.Regs
	v.must(v.cpu.Regs(&r))
	r.RBX = gpa
	v.must(v.cpu.SetRegs(&r))
}

// What the guest reads is what the package says is there.
func TestKVMGuestSeesEveryChange(t *testing.T) {
	const frame, hole, other = 0x100, 0xd0000, 0xd0010
	// 1: mov (%rbx),%eax; out %eax,$DonePort; jmp 1b
	v := newVCPU(t, []byte{0x8b, 0x03, 0xe7, kvmtest.DonePort, 0xeb, 0xfa})
	p, err := v.NewPages("page", 1)
	v.must(err)
	v.must(p.StoreUint32(0, 0x2222))
	v.must(v.StoreUint32(frame<<12, 0x1111))
	want := func(gfn uint64, value uint32, mapped bool) {
		t.Helper()
		v.setRBX(gfn << 12)
		v.out() // the OUT in progress was for the old address
		if got, ok := v.out(); got != value || ok != mapped {
			t.Errorf("frame %#x: %#x %v, want %#x %v", gfn, got, ok, value, mapped)
		}
	}
	want(frame, 0x1111, true)
	want(hole, 0, false)
	v.must(v.MapPage(p, 0, frame))
	want(frame, 0x2222, true)
	v.must(v.MapPage(p, 0, hole))
	want(frame, 0x1111, true)
	want(hole, 0x2222, true)
	v.must(v.Rehome(hole))
	want(hole, 0x2222, true)
	v.must(v.MapPage(p, 0, other))
	want(hole, 0, false)
	want(other, 0x2222, true)
	v.must(v.UnmapPage(p, 0))
	want(other, 0, false)
	v.must(v.Remap(0, kvmtest.MinRAM))
	want(frame, 0x1111, true)
	v.must(v.Discard(frame, 1))
	want(frame, 0, true)

	s, err := v.AddSlot("slot", hole<<12, 4096, 0)
	v.must(err)
	v.must(v.StoreUint32(hole<<12, 0x3333))
	want(hole, 0x3333, true)
	v.must(s.Move(other << 12))
	want(hole, 0, false)
	want(other, 0x3333, true)
	v.must(s.Resize(8192))
	want(other+1, 0, true)
	v.must(s.SetFlags(kvm.MemLogDirtyPages))
	want(other, 0x3333, true)
	v.must(s.Delete())
	want(other, 0, false)
}

// While pages come and go over a frame of RAM under a running vCPU, the guest
// reads one or the other and never leaves for want of memory.
func TestKVMGuestNeverSeesAGapOverRAM(t *testing.T) {
	const frame = 0x100
	v := newVCPU(t, []byte{
		0x8b, 0x03, // 1: mov (%rbx),%eax
		0x3d, 0x11, 0x11, 0x11, 0x11, // cmp $0x11111111,%eax
		0x74, 0x07, // je 2f
		0x3d, 0x22, 0x22, 0x22, 0x22, // cmp $0x22222222,%eax
		0x75, 0x0d, // jne 3f
		0x83, 0x3c, 0x25, 0x00, 0x00, 0x03, 0x00, 0x00, // 2: cmpl $0,Data
		0x74, 0xe6, // je 1b
		0x31, 0xc0, // xor %eax,%eax
		0x90,
		0xe7, kvmtest.DonePort, // 3: out %eax,$DonePort
	})
	p, err := v.NewPages("page", 1)
	v.must(err)
	v.must(p.StoreUint32(0, 0x22222222))
	v.must(v.StoreUint32(frame<<12, 0x11111111))
	v.setRBX(frame << 12)
	changed := make(chan error, 1)
	go func() {
		var err error
		for range 50 {
			err = errors.Join(err, v.MapPage(p, 0, frame), v.Remap(frame<<12, 4096), v.UnmapPage(p, 0))
		}
		changed <- errors.Join(err, v.StoreUint32(kvmtest.Data, 1))
	}()
	if got, ok := v.out(); !ok || got != 0 {
		t.Errorf("guest stopped with %#x %v", got, ok)
	}
	v.must(<-changed)
}
