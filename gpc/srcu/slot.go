// SPDX-License-Identifier: Apache-2.0

package srcu

import "sync/atomic"

// Offsets within a Slot and its size, for sections written in assembly.
//
// Such a section does, in this order: read seq; exchange (XCHG) seq+1 into it;
// only then load the guarded pointer and use it; and leave as the slot's mode
// says:
//
//	ModePlain        exchange seq+2 into seq; if the waiter word is now non-zero,
//	                 store 0 into it and futex-wake all its waiters
//	                 (FUTEX_WAKE|FUTEX_PRIVATE_FLAG)
//	ModeRestartable  store seq+2 into seq (MOV)
//	ModeUncounted    it has not touched seq, and doesn't
//
// In every mode all of its loads and uses of guarded pointers lie in restartable
// ranges (package rseq): before each it stores the address of the range's
// descriptor into the word whose address is at SlotSequence. Each range loads the
// pointer anew, which may have been withdrawn since the one before. Abort
// handlers add 1 to the word at SlotRestarts.
//
// Such a section never nests with Enter.
const (
	SlotSeq      = 0
	SlotMode     = 8
	SlotSequence = 16
	SlotRestarts = 24
	SlotWaiter   = 64
	SlotSize     = 128
)

// Modes of a slot.
const (
	ModePlain       = 0 // a grace period sleeps until the section has ended
	ModeRestartable = 1 // a grace period makes the kernel restart the section's range
	ModeUncounted   = 2 // no grace period looks at it: readers are kept out by other means
)

// A Slot is one reader's section counter. It fills two cache lines: the first
// is written by its owner alone, the second by updaters about to sleep, so that
// neither shares a line (or an adjacent-line prefetch pair) with another reader.
// It holds no pointers.
type Slot struct {
	seq  atomic.Uint64 // odd: inside a section; only the owner writes it, and it only grows
	mode atomic.Uint32 // written while seq is even
	// bindings counts how often the slot was taken from a thread.
	bindings atomic.Uint32
	// sequence is the address of the rseq_cs word of the owner's thread, or that
	// of unused, which nobody reads: storing there is cheaper than asking.
	sequence uintptr
	restarts atomic.Uint64 // ranges that the kernel aborted
	unused   uint64
	area     atomic.Uintptr // where the owner's thread has its number of a processor; 0: nowhere. See cpu.
	_        [SlotWaiter - 48]byte
	waiter   atomic.Uint32 // 1: an updater sleeps, or is about to, until seq changes
	_        [SlotSize - SlotWaiter - 4]byte
}

// leave ends the section and wakes the updaters that wait for it. The load of
// waiter comes after the full barrier of the exchange on seq: an updater that
// set waiter too late to be seen here sees the new seq when it rechecks.
func (s *Slot) leave() {
	s.seq.Store(s.seq.Load() + 1)
	if s.waiter.Load() != 0 {
		s.waiter.Store(0)
		futexWake(&s.waiter)
	}
}

// Restarts is how often the kernel has restarted a range of the owner's.
func (s *Slot) Restarts() uint64 { return s.restarts.Load() }

// NewUncounted returns a slot of no Domain, for one thread that enters sections
// written in assembly while something else keeps grace periods out.
func NewUncounted() *Slot {
	c := newChunk(1)
	s := &c.slots[0]
	s.mode.Store(ModeUncounted)
	return s
}
