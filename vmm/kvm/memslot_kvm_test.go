// SPDX-License-Identifier: Apache-2.0

package kvm_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"xenvmm/vmm/kvm"
)

func TestKVMMemorySlotAddMoveDelete(t *testing.T) {
	// 1: mov (%rbx),%eax; out %eax,$donePort; jmp 1b
	g := newGuest(t, []byte{0x8b, 0x03, 0xe7, donePort, 0xeb, 0xfa}, nil)
	mem, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	g.must(err)
	defer unix.Munmap(mem)
	le.PutUint32(mem, 0xabcd)
	const at, there = 0xd0000000, 0xd4000000

	mmioRead := func(what string) {
		t.Helper()
		e := g.run()
		if e.Reason != kvm.ExitMMIO || e.MMIO.Write || e.MMIO.GPA != at {
			t.Fatalf("%s: exit %v %+v", what, e.Reason, e.MMIO)
		}
		le.PutUint32(e.MMIO.Data, 0xffffffff)
		g.expectOut(donePort)
	}
	mmioRead("no slot")
	g.must(g.vm.SetUserMemoryRegion(1, 0, at, 4096, hva(mem)))
	if d := g.expectOut(donePort); le.Uint32(d) != 0xabcd {
		t.Errorf("read % x from the slot", d)
	}
	g.must(g.vm.SetUserMemoryRegion(1, 0, there, 4096, hva(mem)))
	mmioRead("slot moved away")
	g.must(g.vm.SetUserMemoryRegion(1, 0, at, 4096, hva(mem)))
	if d := g.expectOut(donePort); le.Uint32(d) != 0xabcd {
		t.Errorf("read % x after the move back", d)
	}
	g.must(g.vm.SetUserMemoryRegion(1, kvm.MemLogDirtyPages, at, 4096, hva(mem)))
	g.must(g.vm.DirtyLog(1, make([]uint64, 1)))
	g.must(g.vm.SetUserMemoryRegion(1, 0, at, 0, hva(mem)))
	mmioRead("slot deleted")
	if err := g.vm.SetUserMemoryRegion(1, 0, 0x1000, 4096, hva(mem)); err == nil {
		t.Error("a slot over RAM was accepted")
	}
}
