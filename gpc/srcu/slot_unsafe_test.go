// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"testing"
	"unsafe"
)

func TestSlotsAreAlignedToTheirSizeAndNeverMove(t *testing.T) {
	var s Slot
	layout := [...]uintptr{unsafe.Sizeof(s), unsafe.Offsetof(s.seq), unsafe.Offsetof(s.mode), unsafe.Offsetof(s.sequence), unsafe.Offsetof(s.restarts), unsafe.Offsetof(s.waiter)}
	if want := [...]uintptr{SlotSize, SlotSeq, SlotMode, SlotSequence, SlotRestarts, SlotWaiter}; layout != want {
		t.Fatalf("layout: %v, want %v", layout, want)
	}
	d := New(Options{})
	readers := make([]*Reader, 5*chunkSlots+1)
	seen := map[*Slot]bool{}
	for i := range readers {
		r := d.NewReader()
		defer r.Close()
		if at := uintptr(unsafe.Pointer(r.Slot())); at%SlotSize != 0 {
			t.Fatalf("slot %d at %#x is not aligned to %d", i, at, SlotSize)
		}
		if seen[r.Slot()] {
			t.Fatalf("slot %d has two owners", i)
		}
		seen[r.Slot()] = true
		readers[i] = r
	}
	for i, r := range readers {
		r.Enter()
		if d.TrySynchronize() {
			t.Fatalf("the scan missed reader %d", i)
		}
		r.Exit()
		if !d.TrySynchronize() {
			t.Fatalf("reader %d still counts after Exit", i)
		}
	}
}
