// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"sync/atomic"
	"unsafe"
)

// chunkSlots is how many readers one chunk serves.
const chunkSlots = 16

// A chunk is a block of slots that never moves. used only grows: slots beyond
// it have never had an owner and need not be scanned. A reader raises it before
// its first section, and an updater reads it after withdrawing its pointer, so
// a slot that the updater misses belongs to a reader that sees the withdrawal.
type chunk struct {
	slots    []Slot
	used     atomic.Int32
	next     atomic.Pointer[chunk]
	owners   [chunkSlots]atomic.Pointer[string] // where the handle was made
	reported [chunkSlots]atomic.Uint64          // the section the watchdog has named
}

// newChunk returns a chunk of n slots, aligned to their size. The buffer holds no
// Go pointers, and the slice into it keeps it alive.
func newChunk(n int) *chunk {
	buf := make([]byte, (n+1)*SlotSize)
	base := unsafe.Pointer(unsafe.SliceData(buf))
	skip := -uintptr(base) & (SlotSize - 1)
	c := &chunk{slots: unsafe.Slice((*Slot)(unsafe.Add(base, skip)), n)}
	for i := range c.slots {
		c.slots[i].unbind()
	}
	return c
}

// unbind makes the slot one of no thread in particular. The collector does not
// move the buffer, so the slot may hold its own address.
func (s *Slot) unbind() {
	s.mode.Store(ModePlain)
	s.area.Store(0)
	s.bindings.Add(1) // before the thread may end, and its area with it
	s.sequence = uintptr(unsafe.Pointer(&s.unused))
}
