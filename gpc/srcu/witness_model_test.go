// SPDX-License-Identifier: Apache-2.0

package srcu

import "testing"

// The model of witnesses: two readers with restartable sections and an updater, on
// two processors, with a kernel that takes them off and puts them on at any time.
// Every interleaving is tried. Processors are sequentially consistent here: what
// the kernel's barriers are relied on for is said at type witness.

type witnessVariant struct {
	name          string
	sections      int8 // of each reader
	kernelForgets bool // a thread that has lost its processor goes on where it was
	numberEarly   bool // the number of the section's thread is read before the withdrawal
	counterEarly  bool // the witness's counter is
	selfEarly     bool // the updater's own processor is
	anyNeighbour  bool // a witness need not have moved
	numberFirst   bool // the witness's number is read before its counter has moved
}

const (
	wReaders = 2
	wUpdater = wReaders
	wThreads = wReaders + 1
	wCPUs    = 2
)

// Program counters of a reader.
const (
	wEnter = iota
	wLoad
	wUse // in the range, with what was loaded
	wLeave
)

// Program counters of the updater.
const (
	wEarly = iota
	wWithdraw
	wScan
	wNumbers
	wCounters
	wSelf
	wHear
	wNumber // of the witness that has moved
	wFreed
)

type witnessState struct {
	cpu, sent     [wThreads]int8 // where a thread runs, -1: nowhere; where it was last sent
	aborted       [wReaders]bool
	pc            [wThreads]int8
	seq, sections [wReaders]int8
	holds         [wReaders]bool // the old page
	withdrawn     bool
	found         [wReaders]int8 // the updater's: odd counter, or 0: nothing to wait for
	number, moved [wReaders]int8
	self          int8
	heard         int8 // the witness whose number comes next
	heardNumber   int8
}

// kernel returns the states that scheduling leads to.
func (v *witnessVariant) kernel(s witnessState) (next []witnessState) {
	for t := range wThreads {
		if s.cpu[t] >= 0 {
			n := s
			n.cpu[t] = -1
			if t < wReaders && n.pc[t] == wUse && !v.kernelForgets {
				n.aborted[t] = true
			}
			next = append(next, n)
			continue
		}
		for c := range int8(wCPUs) {
			if s.cpu[0] == c || s.cpu[1] == c || s.cpu[2] == c {
				continue
			}
			n := s
			n.cpu[t], n.sent[t] = c, c
			if t < wReaders && n.aborted[t] {
				n.aborted[t], n.pc[t], n.holds[t] = false, wLoad, false
			}
			next = append(next, n)
		}
	}
	return next
}

// reader is a step of reader t, and whether it used a page that was freed.
func (v *witnessVariant) reader(s witnessState, t int) (n witnessState, moved, bad bool) {
	n = s
	switch s.pc[t] {
	case wEnter:
		if s.sections[t] == v.sections {
			return s, false, false
		}
		n.sections[t]++
		n.seq[t]++
		n.pc[t] = wLoad
	case wLoad:
		if n.holds[t], n.pc[t] = !s.withdrawn, wUse; s.withdrawn {
			n.pc[t] = wLeave
		}
	case wUse:
		if s.holds[t] && s.pc[wUpdater] == wFreed {
			return s, true, true
		}
		n.holds[t], n.pc[t] = false, wLeave
	case wLeave:
		n.seq[t]++
		n.pc[t] = wEnter
	}
	return n, true, false
}

func (s *witnessState) numbers()  { s.number = [wReaders]int8{s.sent[0], s.sent[1]} }
func (s *witnessState) counters() { s.moved = s.seq }

// lost drops the sections whose threads were sent to c.
func (s *witnessState) lost(c int8) {
	for i := range wReaders {
		if s.found[i] != 0 && s.number[i] == c {
			s.found[i] = 0
		}
	}
}

// updater returns the states that a step of the updater leads to.
func (v *witnessVariant) updater(s witnessState) (next []witnessState) {
	n := s
	n.pc[wUpdater]++
	switch s.pc[wUpdater] {
	case wEarly:
		n.numbers()
		n.counters()
		n.self = s.cpu[wUpdater]
	case wWithdraw:
		n.withdrawn = true
	case wScan:
		for i := range wReaders {
			n.found[i] = s.seq[i] * (s.seq[i] & 1)
		}
	case wNumbers:
		if !v.numberEarly {
			n.numbers()
		}
	case wCounters:
		if !v.counterEarly {
			n.counters()
		}
	case wSelf:
		if !v.selfEarly {
			n.self = s.cpu[wUpdater]
		}
		n.lost(n.self)
	case wHear:
		for i := range wReaders {
			if s.found[i] != 0 && s.seq[i] != s.found[i] {
				s.found[i] = 0 // ended
			}
		}
		if s.found == [wReaders]int8{} {
			n = s
			n.pc[wUpdater] = wFreed
			return append(next, n)
		}
		for i := range wReaders {
			n = s
			n.heard, n.pc[wUpdater] = int8(i), wNumber
			switch {
			case v.numberFirst: // and the counter is looked at afterwards
				n.heardNumber = s.sent[i]
				next = append(next, n)
			case s.seq[i] != s.moved[i], v.anyNeighbour && s.number[1-i] >= 0 && i != int(s.heard):
				n.moved[i] = s.seq[i]
				next = append(next, n)
			}
		}
		return next
	case wNumber:
		n.pc[wUpdater] = wHear
		i := s.heard
		switch {
		case !v.numberFirst:
			n.lost(s.sent[i])
		case s.seq[i] != s.moved[i]:
			n.moved[i] = s.seq[i]
			n.lost(s.heardNumber)
		}
	default:
		return nil
	}
	return append(next, n)
}

// explore returns how many states there are and whether one is bad.
func (v *witnessVariant) explore() (states int, bad bool) {
	start := witnessState{cpu: [wThreads]int8{-1, -1, -1}, sent: [wThreads]int8{-1, -1, -1}}
	seen, todo := map[witnessState]bool{start: true}, []witnessState{start}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		next := v.kernel(s)
		for t := range wReaders {
			if s.cpu[t] < 0 {
				continue
			}
			n, moved, violation := v.reader(s, t)
			if violation {
				return len(seen), true
			}
			if moved {
				next = append(next, n)
			}
		}
		if s.cpu[wUpdater] >= 0 {
			next = append(next, v.updater(s)...)
		}
		for _, n := range next {
			if !seen[n] {
				seen[n] = true
				todo = append(todo, n)
			}
		}
	}
	return len(seen), false
}

func TestModelNoWitnessIsWrong(t *testing.T) {
	correct := witnessVariant{sections: 2}
	if testing.Short() {
		correct.sections = 1
	}
	states, bad := correct.explore()
	if bad {
		t.Fatal("a page in use was freed")
	}
	t.Logf("%d states", states)
}

func TestModelFindsEachWrongWitness(t *testing.T) {
	for _, v := range []witnessVariant{
		{name: "the kernel does not restart", kernelForgets: true},
		{name: "number of the section's thread from before the withdrawal", numberEarly: true},
		{name: "counter of the witness from before the withdrawal", counterEarly: true},
		{name: "own processor from before the withdrawal", selfEarly: true},
		{name: "a neighbour that has not moved", anyNeighbour: true},
		{name: "number of the witness from before it moved", numberFirst: true},
	} {
		t.Run(v.name, func(t *testing.T) {
			found := false
			for v.sections = 1; v.sections <= 2 && !found; v.sections++ {
				var states int
				states, found = v.explore()
				t.Logf("%d sections, %d states", v.sections, states)
			}
			if !found {
				t.Fatal("no violation found: the model proves nothing")
			}
		})
	}
}
