// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

var errInjected = errors.New("injected")

// recorder logs what the package does to the outside, in order, and fails the
// n-th action from now on if told to.
type recorder struct {
	mu     sync.Mutex
	log    []string
	quiet  bool // count, but keep no log
	failAt int  // 0: never; 1: the next action
	stay   bool // every action after the failed one fails as well
	count  int
}

func (r *recorder) do(format string, args ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.quiet {
		r.log = append(r.log, fmt.Sprintf(format, args...))
	}
	r.count++
	if r.failAt == 0 {
		return nil
	}
	if r.failAt--; r.failAt == 0 {
		if r.stay {
			r.failAt = 1
		}
		return errInjected
	}
	return nil
}

func (r *recorder) arm(n int, stay bool) { r.failAt, r.stay, r.log, r.count = n, stay, nil, 0 }

// fakeKVM keeps slots by KVM's rules.
type fakeKVM struct {
	r     *recorder
	slots map[uint32]Range
}

func (k *fakeKVM) SetUserMemoryRegion(slot, flags uint32, gpa, size uint64, hva uintptr) error {
	if err := k.r.do("slot %d %#x+%#x", slot, gpa, size); err != nil {
		return err
	}
	k.r.mu.Lock()
	defer k.r.mu.Unlock()
	old, there := k.slots[slot]
	switch {
	case (gpa|size|uint64(hva))&pageMask != 0:
		return errors.New("fake KVM: unaligned")
	case size == 0 && !there:
		return errors.New("fake KVM: no such slot to delete")
	case size == 0:
		delete(k.slots, slot)
		return nil
	case there && old.Size != size:
		return errors.New("fake KVM: the size of a slot cannot change")
	}
	for id, s := range k.slots {
		if id != slot && gpa < s.End() && s.GPA < gpa+size {
			return fmt.Errorf("fake KVM: slot %d overlaps slot %d", slot, id)
		}
	}
	k.slots[slot] = Range{gpa, size}
	return nil
}

// fakeNotifier checks that transactions nest and end.
type fakeNotifier struct {
	r    *recorder
	mu   sync.Mutex
	open []Range
}

func (n *fakeNotifier) InvalidateStart(gpa, size uint64, mayBlock bool) error {
	if !mayBlock {
		panic("not a sleeper's call")
	}
	if err := n.r.do("start %#x+%#x", gpa, size); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = append(n.open, Range{gpa, size})
	return nil
}

func (n *fakeNotifier) InvalidateEnd(gpa, size uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.Index(n.open, Range{gpa, size})
	if i < 0 {
		panic(fmt.Sprintf("end of [%#x, +%#x) without a start", gpa, size))
	}
	n.open = slices.Delete(n.open, i, i+1)
	n.r.mu.Lock()
	defer n.r.mu.Unlock()
	if !n.r.quiet {
		n.r.log = append(n.r.log, fmt.Sprintf("end %#x+%#x", gpa, size))
	}
}

// fakeHost does the real thing, recorded, unless it is to fail.
type fakeHost struct{ r *recorder }

func (h fakeHost) mapNew(b backing, n uint64) (hva, error) {
	if err := h.r.do("map %#x", n); err != nil {
		return nil, err
	}
	return linux{}.mapNew(b, n)
}

func (h fakeHost) mapOver(at hva, b backing, n uint64) error {
	if err := h.r.do("remap %#x", n); err != nil {
		return err
	}
	return linux{}.mapOver(at, b, n)
}

func (h fakeHost) unmap(at hva, n uint64) error {
	if err := h.r.do("unmap %#x", n); err != nil {
		return err
	}
	return linux{}.unmap(at, n)
}

func (h fakeHost) punch(b backing, n uint64) error {
	if err := h.r.do("punch %#x", n); err != nil {
		return err
	}
	return linux{}.punch(b, n)
}

// rig is a memory with everything around it faked.
type rig struct {
	*Memory
	t   testing.TB
	r   *recorder
	kvm *fakeKVM
	n   *fakeNotifier
}

func newRig(t testing.TB, size uint64) *rig { return newRigWith(t, Config{Size: size}) }

func newRigWith(t testing.TB, c Config) *rig {
	t.Helper()
	r := &recorder{}
	g := &rig{t: t, r: r, kvm: &fakeKVM{r: r, slots: map[uint32]Range{}}, n: &fakeNotifier{r: r}}
	c.Slots = g.kvm
	var err error
	if g.Memory, err = newMemory(c, fakeHost{r}); err != nil {
		t.Fatal(err)
	}
	g.AddNotifier(g.n)
	t.Cleanup(func() {
		r.arm(0, false)
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if len(g.n.open) != 0 {
			t.Errorf("transactions left open: %v", g.n.open)
		}
	})
	return g
}

func (g *rig) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *rig) newPages(name string, n int) *Pages {
	g.t.Helper()
	p, err := g.NewPages(name, n)
	g.must(err)
	return p
}

func (g *rig) addSlot(name string, gpa, size uint64) *Slot {
	g.t.Helper()
	s, err := g.AddSlot(name, gpa, size, 0)
	g.must(err)
	return s
}

func (g *rig) put(gpa uint64, s string) {
	g.t.Helper()
	g.must(g.WriteAt([]byte(s), gpa))
}

// see is the string of n bytes at gpa, or the error.
func (g *rig) see(gpa uint64, n int) string {
	b := make([]byte, n)
	if err := g.ReadAt(b, gpa); err != nil {
		return "error: " + errors.Unwrap(err).Error()
	}
	return strings.TrimRight(string(b), "\x00")
}

func (g *rig) want(gpa uint64, s string) {
	g.t.Helper()
	if got := g.see(gpa, max(len(s), 4)); got != s {
		g.t.Errorf("at %#x: %q, want %q", gpa, got, s)
	}
}

const nothing = "error: no guest memory there"

func (g *rig) wantNothing(gpa uint64) {
	g.t.Helper()
	if got := g.see(gpa, 4); got != nothing {
		g.t.Errorf("at %#x: %q, want no memory", gpa, got)
	}
}

// takeLog is what was done since the last call.
func (g *rig) takeLog() []string {
	l := g.r.log
	g.r.log = nil
	return l
}

// openFDs and mappings count what this process holds.
func openFDs(t testing.TB) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

func memfdMappings(t testing.TB) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "/memfd:")
}
