// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSlotLife(t *testing.T) {
	g := newRig(t, 1<<20)
	s := g.addSlot("bar", 0xd0000000, 4*PageSize)
	g.put(0xd0000000, "bar")
	g.must(s.Move(0xd4000000))
	g.wantNothing(0xd0000000)
	g.want(0xd4000000, "bar")
	g.must(s.Move(0xd4001000)) // over itself
	g.want(0xd4001000, "bar")
	g.must(s.Resize(8 * PageSize))
	g.want(0xd4001000, "bar")
	g.put(0xd4001000+7*PageSize, "end")
	g.must(s.Resize(PageSize))
	g.want(0xd4001000, "bar")
	g.wantNothing(0xd4001000 + PageSize)
	g.must(s.Resize(8 * PageSize))
	g.want(0xd4001000+7*PageSize, "") // shrinking forgets
	g.must(s.SetFlags(1))
	g.want(0xd4001000, "bar")
	if d := cmp.Diff(Range{0xd4001000, 8 * PageSize}, s.Range()); d != "" {
		t.Error(d)
	}
	g.must(s.Delete())
	g.wantNothing(0xd4001000)
	if (s.Range() != Range{}) {
		t.Error(s.Range())
	}
	for i, err := range []error{s.Delete(), s.Move(0xd0000000), s.Resize(PageSize), s.SetFlags(0)} {
		if !errors.Is(err, ErrNotMapped) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if len(g.kvm.slots) != 1 {
		t.Errorf("slots %v", g.kvm.slots)
	}
}

func TestSlotsDoNotOverlapAnything(t *testing.T) {
	g := newRig(t, 1<<20)
	s := g.addSlot("a", 0xd0000000, 2*PageSize)
	g.addSlot("b", 0xd0002000, 2*PageSize)
	p := g.newPages("page", 1)
	g.must(g.MapPage(p, 0, 0xd0010))
	for name, err := range map[string]error{
		"RAM":       second(g.AddSlot("x", 1<<20-PageSize, PageSize, 0)),
		"slot":      second(g.AddSlot("x", 0xcffff000, 2*PageSize, 0)),
		"overlay":   second(g.AddSlot("x", 0xd000f000, 3*PageSize, 0)),
		"around":    second(g.AddSlot("x", 0xc0000000, 1<<29, 0)),
		"move":      s.Move(0xd0001000),
		"grow":      s.Resize(3 * PageSize),
		"move over": s.Move(0xd0010000),
	} {
		if !errors.Is(err, ErrOverlap) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"empty":         second(g.AddSlot("x", 0xe0000000, 0, 0)),
		"end of space":  second(g.AddSlot("x", MaxGPA-PageSize, 2*PageSize, 0)),
		"beyond":        second(g.AddSlot("x", MaxGPA, PageSize, 0)),
		"overflow":      second(g.AddSlot("x", PageSize, ^uint64(0xfff), 0)),
		"too large":     second(g.AddSlot("x", 1<<40, MaxSize+PageSize, 0)),
		"resize to 0":   s.Resize(0),
		"move out":      s.Move(MaxGPA - PageSize),
		"resize beyond": s.Resize(MaxGPA),
	} {
		if !errors.Is(err, ErrRange) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"address": second(g.AddSlot("x", 0xe0000001, PageSize, 0)),
		"size":    second(g.AddSlot("x", 0xe0000000, PageSize+1, 0)),
		"move":    s.Move(0xe0000800),
		"resize":  s.Resize(PageSize + 8),
	} {
		if !errors.Is(err, ErrUnaligned) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestSlotNumbersAreBoundedAndRecycled(t *testing.T) {
	g := newRigWith(t, Config{Size: 1 << 20, MaxSlots: 3})
	p := g.newPages("pages", 3)
	g.must(g.MapPage(p, 0, hole1))
	s := g.addSlot("slot", 0xd0000000, PageSize)
	if err := g.MapPage(p, 1, hole2); !errors.Is(err, ErrNoSlots) {
		t.Errorf("fourth slot: %v", err)
	}
	if _, err := g.AddSlot("x", 0xe0000000, PageSize, 0); !errors.Is(err, ErrNoSlots) {
		t.Errorf("fourth slot: %v", err)
	}
	g.must(g.MapPage(p, 0, hole2)) // moving needs none
	g.must(g.MapPage(p, 1, hole2)) // nor does replacing
	g.must(g.MapPage(p, 2, ramFrame))
	g.must(s.Resize(2 * PageSize))
	g.must(s.Delete())
	for range 100 {
		g.must(g.MapPage(p, 0, hole1))
		g.must(g.UnmapPage(p, 0))
	}
	g.addSlot("slot", 0xd0000000, PageSize)
}

// gate counts, and lets a vCPU finish what it is doing.
type testGate struct {
	pauses, resumes int
	during          func()
}

func (g *testGate) Pause() func() {
	g.pauses++
	if g.during != nil {
		g.during()
	}
	return func() { g.resumes++ }
}

func TestGateIsPausedBeforeTheLockIsTaken(t *testing.T) {
	gate := &testGate{}
	g := newRigWith(t, Config{Size: 1 << 20, Gate: gate})
	p := g.newPages("pages", 2)
	s := g.addSlot("slot", 0xd0000000, PageSize)
	g.must(g.MapPage(p, 0, hole1))
	if gate.pauses != 0 {
		t.Error("a guest's own change paused the vCPUs")
	}
	// A vCPU is in the middle of a hypercall that maps a page: Pause returns
	// only when it has finished.
	gate.during = func() {
		done := make(chan error)
		go func() { done <- g.MapPage(p, 1, ramFrame+uint64(gate.pauses)) }()
		select {
		case err := <-done:
			g.must(err)
		case <-time.After(5 * time.Second):
			t.Fatal("deadlock between Pause and a change")
		}
	}
	g.must(g.Rehome(hole1))
	g.must(s.Resize(2 * PageSize))
	if err := g.Rehome(hole2); !errors.Is(err, ErrNotMapped) {
		t.Error(err)
	}
	if gate.pauses != 3 || gate.resumes != 3 {
		t.Errorf("%d pauses, %d resumes", gate.pauses, gate.resumes)
	}
}

// lateNotifier does at the end of a transaction what a restore hook may do:
// look addresses up, and wait for something that needs the memory's lock.
type lateNotifier struct {
	m    *Memory
	errs []error
}

func (*lateNotifier) InvalidateStart(uint64, uint64, bool) error { return nil }

func (n *lateNotifier) InvalidateEnd(gpa, _ uint64) {
	_, err := n.m.Resolve(gpa, 1)
	n.m.Overlay(gpa / PageSize)
	n.errs = append(n.errs, err)
}

func TestTheEndOfATransactionIsOutsideTheLock(t *testing.T) {
	g := newRig(t, 1<<20)
	n := &lateNotifier{m: g.Memory}
	g.AddNotifier(n)
	p := g.newPages("page", 1)
	done := make(chan error, 1)
	go func() { done <- g.MapPage(p, 0, hole1) }()
	select {
	case err := <-done:
		g.must(err)
	case <-time.After(5 * time.Second):
		t.Fatal("deadlock")
	}
	if len(n.errs) != 1 || n.errs[0] != nil {
		t.Errorf("%v", n.errs) // the new state is there already
	}
}
