// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"fmt"
	"testing"
)

// The model is every interleaving of readers and one updater on a machine with
// x86's memory order: each thread's stores go through a FIFO store buffer that
// it reads from itself, and locked operations need the buffer empty. A page is
// free after its grace period; touching a free page is the violation that a
// guard exists to prevent. Torture runs find the coarse mistakes; this finds
// the ones that need a store to be late at the wrong moment.

type variant struct {
	name             string
	plainEnter       bool // the counter is made odd by a plain store
	loadBeforeEnter  bool
	exitBeforeUse    bool
	scanBeforeRevoke bool
	plainRevoke      bool // the pointer is withdrawn by a plain store
	giveUp           bool // the updater stops waiting before the section ends
	noWait           bool
	innerExit        bool // a nested section's exit touches the counter

	restartable bool // the readers are thread readers, see model_rseq_test.go
	restartableVariant
}

var wrongVariants = []variant{
	{name: "plain store at entry", plainEnter: true},
	{name: "load before entry", loadBeforeEnter: true},
	{name: "exit before use", exitBeforeUse: true},
	{name: "scan before the pointer is withdrawn", scanBeforeRevoke: true},
	{name: "pointer withdrawn by a plain store", plainRevoke: true},
	{name: "updater gives up", giveUp: true},
	{name: "no wait", noWait: true},
	{name: "nested exit touches the counter", innerExit: true},
}

const modelReaders = 3

// Memory cells.
const (
	cellPointer = iota // page published: 0 none, 1 or 2
	cellFree1          // page 1 is free
	cellFree2
	cellSeq  // first of one per reader
	cellMode = cellSeq + modelReaders
	cells    = cellMode + modelReaders
)

type bufferedStore struct{ cell, value int8 }

// A modelThread is a program counter, registers and a store buffer.
type modelThread struct {
	pc    int8
	page  int8 // reader: the pointer it loaded
	seq   int8 // reader: its odd counter; updater: the one it waits on
	count int8 // sections or grace periods done
	index int8 // updater: the slot it looks at
	fence int8 // updater: how many readers its fence has reached
	nth   int8 // reader: the range of the section
	buf   [2]bufferedStore
	n     int8
}

type modelState struct {
	mem     [cells]int8
	readers [modelReaders]modelThread
	updater modelThread
}

func (t *modelThread) load(mem *[cells]int8, cell int8) int8 {
	for i := t.n - 1; i >= 0; i-- {
		if t.buf[i].cell == cell {
			return t.buf[i].value
		}
	}
	return mem[cell]
}

// store buffers a plain store; it reports false if the buffer is full.
func (t *modelThread) store(cell, value int8) bool {
	if int(t.n) == len(t.buf) {
		return false
	}
	t.buf[t.n] = bufferedStore{cell, value}
	t.n++
	return true
}

// drain lets the oldest buffered store reach memory.
func (t *modelThread) drain(mem *[cells]int8) {
	mem[t.buf[0].cell] = t.buf[0].value
	copy(t.buf[:], t.buf[1:])
	t.n--
	t.buf[t.n] = bufferedStore{}
}

// Reader program counters.
const (
	rEnter = iota
	rEnterLoaded
	rLoad
	rNested
	rUse
	rExit
	rUseAfterExit
)

// stepReader runs one step of reader i in s. moved is false if it cannot move.
func (v *variant) stepReader(s *modelState, i, sections int) (moved, violation bool) {
	if v.restartable {
		return v.stepRestartable(s, i, sections)
	}
	t, seq := &s.readers[i], int8(cellSeq+i)
	locked := t.n == 0
	switch t.pc {
	case rEnter:
		switch {
		case int(t.count) == sections:
			return false, false
		case v.loadBeforeEnter:
			t.page, t.pc = t.load(&s.mem, cellPointer), rEnterLoaded
		case v.plainEnter:
			if !t.store(seq, t.load(&s.mem, seq)+1) {
				return false, false
			}
			t.pc = rLoad
		default:
			if !locked {
				return false, false
			}
			s.mem[seq]++
			t.pc = rLoad
		}
		return true, false
	case rEnterLoaded:
		if !locked {
			return false, false
		}
		s.mem[seq]++
		t.pc = rUse
		return true, false
	case rLoad:
		t.page, t.pc = t.load(&s.mem, cellPointer), rUse
		if v.exitBeforeUse {
			if !locked {
				return false, false
			}
			s.mem[seq]++
			t.pc = rUseAfterExit
		} else if v.innerExit {
			t.pc = rNested
		}
		return true, false
	case rNested: // enters and leaves again, so the counter is even
		if !locked {
			return false, false
		}
		s.mem[seq]++
		t.pc = rUse
		return true, false
	case rUse, rUseAfterExit:
		if t.page != 0 {
			if !locked { // the access is a locked operation
				return false, false
			}
			if s.mem[cellFree1+t.page-1] != 0 {
				return true, true
			}
		}
		t.page = 0
		if t.pc == rUseAfterExit {
			t.pc = rEnter
			t.count++
		} else {
			t.pc = rExit
		}
		return true, false
	default: // rExit
		if !locked {
			return false, false
		}
		s.mem[seq]++
		t.pc = rEnter
		t.count++
		return true, false
	}
}

// Updater program counters.
const (
	uRevoke = iota
	uScan
	uWait
	uLateRevoke
	uFree
	uClean
	uPublish
	// Of restartable variants.
	uMode
	uSpin
	uFence
)

func (v *variant) stepUpdater(s *modelState, readers, periods int) (moved bool) {
	t := &s.updater
	locked := t.n == 0
	old := cellFree1 + t.count%2
	next := cellFree1 + (t.count+1)%2
	switch t.pc {
	case uRevoke:
		switch {
		case int(t.count) == periods:
			return false
		case v.scanBeforeRevoke:
			t.pc = uScan
		case v.plainRevoke:
			if !t.store(cellPointer, 0) {
				return false
			}
			t.pc = uScan
		default:
			if !locked {
				return false
			}
			s.mem[cellPointer] = 0
			t.pc = uScan
		}
		if v.noWait {
			t.pc = uFree
		}
		t.index, t.fence = 0, 0
		return true
	case uScan:
		if int(t.index) == readers {
			t.pc = uFree
			if v.scanBeforeRevoke {
				t.pc = uLateRevoke
			}
			return true
		}
		if seq := t.load(&s.mem, cellSeq+t.index); seq&1 != 0 {
			if t.seq, t.pc = seq, uWait; v.restartable {
				t.pc = uMode
			}
		} else {
			t.index++
		}
		return true
	case uWait:
		if t.load(&s.mem, cellSeq+t.index) == t.seq && !v.giveUp {
			return false
		}
		t.index++
		t.seq, t.pc = 0, uScan
		return true
	case uMode, uSpin, uFence:
		v.stepFencing(s, readers)
		return true
	case uLateRevoke:
		if !locked {
			return false
		}
		s.mem[cellPointer] = 0
		t.pc = uFree
		return true
	}
	if !locked {
		return false
	}
	switch t.pc {
	case uFree:
		s.mem[old], t.pc = 1, uClean
	case uClean:
		s.mem[next], t.pc = 0, uPublish
	case uPublish:
		s.mem[cellPointer] = 1 + (t.count+1)%2
		t.count++
		t.pc = uRevoke
	}
	return true
}

// explore visits every state and reports whether a violation can be reached.
func (v *variant) explore(readers, sections, periods int) (states int, violation bool) {
	var first modelState
	first.mem[cellPointer], first.mem[cellFree2] = 1, 1
	seen := map[modelState]struct{}{first: {}}
	stack := []modelState{first}
	visit := func(s modelState) {
		if _, ok := seen[s]; !ok {
			seen[s] = struct{}{}
			stack = append(stack, s)
		}
	}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for i := range readers {
			if s.readers[i].n > 0 {
				next := s
				next.readers[i].drain(&next.mem)
				visit(next)
			}
			next := s
			moved, bad := v.stepReader(&next, i, sections)
			if bad {
				return len(seen), true
			}
			if moved {
				visit(next)
			}
		}
		if s.updater.n > 0 {
			next := s
			next.updater.drain(&next.mem)
			visit(next)
		}
		next := s
		if v.stepUpdater(&next, readers, periods) {
			visit(next)
		}
	}
	return len(seen), false
}

func TestModelNoInterleavingTouchesAFreedPage(t *testing.T) {
	correct := variant{name: "as built"}
	for _, size := range [][3]int{{1, 3, 3}, {2, 2, 3}, {3, 2, 2}} {
		states, bad := correct.explore(size[0], size[1], size[2])
		t.Logf("readers, sections, grace periods %v: %d states", size, states)
		if bad {
			t.Fatalf("violation with %v", size)
		}
	}
}

func TestModelFindsEachWrongVariant(t *testing.T) {
	for _, v := range wrongVariants {
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
