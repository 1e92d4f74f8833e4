// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"fmt"
	"testing"
)

// The model of thread readers. A section is two ranges, each of which arms
// itself, loads the pointer and uses it; the kernel sends a reader that a fence
// finds in a range back to its start, whether it runs or not, and makes the
// reader's stores visible. Every other section is one of Enter and Exit, which
// the slot's mode announces. That the kernel does so is taken on trust here; the
// torture in package gpc has a real one.

type restartableVariant struct {
	plainFence    bool // a membarrier that restarts nothing
	noFence       bool
	loadBeforeArm bool
	commitOutside bool // the range ends before the use
	reuse         bool // the second range has the first one's pointer
	noMode        bool // Enter does not announce itself
	lateMode      bool // or only when a pointer has been loaded
	earlyMode     bool // the announcement is taken back before that was used
}

var wrongRestartableVariants = []variant{
	{name: "plain store at entry", plainEnter: true},
	{name: "exit before use", exitBeforeUse: true},
	{name: "scan before the pointer is withdrawn", scanBeforeRevoke: true},
	{name: "pointer withdrawn by a plain store", plainRevoke: true},
	{name: "updater gives up", giveUp: true},
	{name: "membarrier that restarts nothing", restartableVariant: restartableVariant{plainFence: true}},
	{name: "no membarrier", restartableVariant: restartableVariant{noFence: true}},
	{name: "range armed after the load", restartableVariant: restartableVariant{loadBeforeArm: true}},
	{name: "commit outside the range", restartableVariant: restartableVariant{commitOutside: true}},
	{name: "pointer kept from the range before", restartableVariant: restartableVariant{reuse: true}},
	{name: "mode not set", restartableVariant: restartableVariant{noMode: true}},
	{name: "mode set after the load", restartableVariant: restartableVariant{lateMode: true}},
	{name: "mode restored before the use", restartableVariant: restartableVariant{earlyMode: true}},
}

// Modes in the model's memory.
const (
	mRestartable = 0
	mPlain       = 1
)

// Program counters of a thread reader, whose 0 is rEnter.
const (
	qArm = iota + 1
	qLoad
	qUse
	qArmLoaded // arms with the pointer in hand
	qUseLoaded
	qExit
	qUseAfterExit
	qGoEnter
	qGoLoad
	qGoMode
	qGoUse
	qGoExit
	qGoLeft
)

// restart returns where a fence sends a reader, if it is in a range.
func (v *variant) restart(pc int8) (to int8, in bool) {
	switch pc {
	case qLoad:
		return qArm, true
	case qUse:
		return qArm, !v.commitOutside
	case qUseLoaded:
		return qArmLoaded, true
	}
	return pc, false
}

func (v *variant) stepRestartable(s *modelState, i, sections int) (moved, violation bool) {
	t, seq, mode := &s.readers[i], int8(cellSeq+i), int8(cellMode+i)
	// What is done with a locked operation waits for the store buffer.
	locked := func(f func()) (bool, bool) {
		if t.n != 0 {
			return false, false
		}
		f()
		return true, false
	}
	use := func(next int8) (bool, bool) {
		if t.n != 0 {
			return false, false
		}
		if t.page != 0 && s.mem[cellFree1+t.page-1] != 0 {
			return true, true
		}
		t.pc = next
		return true, false
	}
	// store makes the counter even by a store, which stays in the buffer for as
	// long as it likes.
	store := func(next int8) (bool, bool) {
		if !t.store(seq, t.load(&s.mem, seq)+1) {
			return false, false
		}
		t.pc = next
		return true, false
	}
	done := func() { t.pc, t.page, t.nth, t.count = rEnter, 0, 0, t.count+1 }
	switch t.pc {
	case rEnter:
		switch {
		case int(t.count) == sections:
			return false, false
		case t.count%2 == 1:
			if v.lateMode || v.noMode {
				t.pc = qGoEnter
				return true, false
			}
			return locked(func() { s.mem[mode], t.pc = mPlain, qGoEnter })
		case v.plainEnter:
			return store(qArm)
		}
		return locked(func() { s.mem[seq], t.pc = s.mem[seq]+1, qArm })
	case qArm: // the kernel reads what is armed on the same processor
		if t.pc = qLoad; v.loadBeforeArm {
			t.page, t.pc = t.load(&s.mem, cellPointer), qArmLoaded
		}
		return true, false
	case qLoad:
		t.page, t.pc = t.load(&s.mem, cellPointer), qUse
		if v.exitBeforeUse && t.nth == 1 {
			return store(qUseAfterExit)
		}
		return true, false
	case qArmLoaded:
		t.pc = qUseLoaded
		return true, false
	case qUse, qUseLoaded:
		if t.nth == 1 {
			return use(qExit)
		}
		moved, violation = use(qArm)
		if moved {
			if t.nth = 1; v.reuse {
				t.pc = qArmLoaded
			}
		}
		return moved, violation
	case qExit:
		if moved, _ = store(rEnter); moved {
			done()
		}
		return moved, false
	case qUseAfterExit:
		if moved, violation = use(rEnter); moved {
			done()
		}
		return moved, violation
	case qGoEnter:
		return locked(func() { s.mem[seq], t.pc = s.mem[seq]+1, qGoLoad })
	case qGoLoad:
		t.page, t.pc = t.load(&s.mem, cellPointer), qGoUse
		if v.lateMode || v.earlyMode {
			t.pc = qGoMode
		}
		return true, false
	case qGoMode:
		return locked(func() {
			s.mem[mode], t.pc = mPlain, qGoUse
			if v.earlyMode {
				s.mem[mode] = mRestartable
			}
		})
	case qGoUse:
		return use(qGoExit)
	case qGoExit:
		return locked(func() { s.mem[seq], t.pc = s.mem[seq]+1, qGoLeft })
	default: // qGoLeft
		return locked(func() {
			s.mem[mode] = mRestartable
			done()
		})
	}
}

// stepFencing is the updater that has found a counter odd.
func (v *variant) stepFencing(s *modelState, readers int) {
	t := &s.updater
	next := func() { t.index, t.seq, t.pc = t.index+1, 0, uScan }
	switch t.pc {
	case uMode:
		switch {
		case t.load(&s.mem, cellMode+t.index) == mPlain:
			t.pc = uWait
		case int(t.fence) == readers: // one fence does for all
			next()
		default:
			t.pc = uSpin
		}
	case uSpin:
		if v.giveUp || v.noFence || t.load(&s.mem, cellSeq+t.index) != t.seq {
			next()
		} else {
			t.pc = uFence
		}
	case uFence: // reaches one reader after another
		r := &s.readers[t.fence]
		for r.n > 0 {
			r.drain(&s.mem)
		}
		if to, in := v.restart(r.pc); in && !v.plainFence {
			r.pc = to
		}
		if t.fence++; int(t.fence) == readers {
			next()
		}
	}
}

func TestModelNoInterleavingOfRestartableSectionsTouchesAFreedPage(t *testing.T) {
	correct := variant{name: "as built", restartable: true}
	for _, size := range [][3]int{{1, 4, 3}, {2, 2, 2}, {3, 1, 2}} {
		states, bad := correct.explore(size[0], size[1], size[2])
		t.Logf("readers, sections, grace periods %v: %d states", size, states)
		if bad {
			t.Fatalf("violation with %v", size)
		}
	}
}

func TestModelFindsEachWrongRestartableVariant(t *testing.T) {
	for _, v := range wrongRestartableVariants {
		v.restartable = true
		t.Run(v.name, func(t *testing.T) {
			found := ""
			for readers := 1; readers <= 2 && found == ""; readers++ {
				if states, bad := v.explore(readers, 2, 2); bad {
					found = fmt.Sprintf("%d readers, %d states", readers, states)
				}
			}
			if found == "" {
				t.Fatal("no violation found: the model proves nothing")
			}
			t.Log(found)
		})
	}
}
