// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scene is a rig with something of every kind in it.
type scene struct {
	*rig
	p *Pages
	s *Slot
}

func newScene(t *testing.T) *scene {
	g, p := overlayRig(t)
	sc := &scene{rig: g, p: p, s: g.addSlot("slot", 0xd0000000, 2*PageSize)}
	g.put(0xd0000000, "slot")
	return sc
}

// state is all that can be seen from outside.
func (s *scene) state() map[string]string {
	out := map[string]string{}
	for _, gpa := range []uint64{at4k(ramFrame), at4k(ramFrame2), at4k(hole1), at4k(hole2),
		0xd0000000, 0xd0000000 + PageSize, 0xd0000000 + 2*PageSize, 0xd4000000, 0xe0000000} {
		out[fmt.Sprintf("%#x", gpa)] = s.see(gpa, 8)
	}
	for i := range s.p.n {
		gfn, ok := s.PageGFN(s.p, i)
		out[fmt.Sprint("page ", i)] = fmt.Sprintf("%#x %v", gfn, ok)
	}
	for _, gfn := range []uint64{ramFrame, ramFrame2, hole1, hole2} {
		_, i, ok := s.Overlay(gfn)
		out[fmt.Sprintf("overlay %#x", gfn)] = fmt.Sprint(i, ok)
	}
	out["range"] = fmt.Sprintf("%+v", s.s.Range())
	var ranges []string
	for _, r := range s.kvm.slots { // numbers may differ after an undo
		ranges = append(ranges, fmt.Sprintf("%#x+%#x", r.GPA, r.Size))
	}
	slices.Sort(ranges)
	out["slots"] = fmt.Sprint(ranges)
	out["mappings"] = fmt.Sprint(memfdMappings(s.t))
	out["descriptors"] = fmt.Sprint(openFDs(s.t))
	return out
}

// Every change, from every situation that takes another path through it.
var changes = map[string]struct {
	prepare, do func(s *scene) error
}{
	"page over RAM":      {nil, func(s *scene) error { return s.MapPage(s.p, 0, ramFrame) }},
	"page into a hole":   {nil, func(s *scene) error { return s.MapPage(s.p, 0, hole1) }},
	"RAM to RAM":         {one(ramFrame), func(s *scene) error { return s.MapPage(s.p, 0, ramFrame2) }},
	"RAM to hole":        {one(ramFrame), func(s *scene) error { return s.MapPage(s.p, 0, hole1) }},
	"hole to RAM":        {one(hole1), func(s *scene) error { return s.MapPage(s.p, 0, ramFrame) }},
	"hole to hole":       {one(hole1), func(s *scene) error { return s.MapPage(s.p, 0, hole2) }},
	"RAM, displacing":    {both(ramFrame, ramFrame2), func(s *scene) error { return s.MapPage(s.p, 0, ramFrame2) }},
	"hole, displacing":   {both(hole1, hole2), func(s *scene) error { return s.MapPage(s.p, 0, hole2) }},
	"hole to taken RAM":  {both(hole1, ramFrame), func(s *scene) error { return s.MapPage(s.p, 0, ramFrame) }},
	"RAM to taken hole":  {both(ramFrame, hole1), func(s *scene) error { return s.MapPage(s.p, 0, hole1) }},
	"unmap from RAM":     {one(ramFrame), func(s *scene) error { return s.UnmapPage(s.p, 0) }},
	"unmap from a hole":  {one(hole1), func(s *scene) error { return s.UnmapPage(s.p, 0) }},
	"rehome":             {one(hole1), func(s *scene) error { return s.Rehome(hole1) }},
	"remap":              {both(ramFrame, hole1), func(s *scene) error { return s.Remap(0, 1<<20) }},
	"remap a hole":       {one(hole1), func(s *scene) error { return s.Remap(at4k(hole1), PageSize) }},
	"add a slot":         {nil, func(s *scene) error { return second(s.AddSlot("new", 0xe0000000, PageSize, 0)) }},
	"move a slot":        {nil, func(s *scene) error { return s.s.Move(0xd4000000) }},
	"grow a slot":        {nil, func(s *scene) error { return s.s.Resize(3 * PageSize) }},
	"shrink a slot":      {nil, func(s *scene) error { return s.s.Resize(PageSize) }},
	"set a slot's flags": {nil, func(s *scene) error { return s.s.SetFlags(1) }},
	"delete a slot":      {nil, func(s *scene) error { return s.s.Delete() }},
}

func one(gfn uint64) func(*scene) error {
	return func(s *scene) error { return s.MapPage(s.p, 0, gfn) }
}

func both(gfn0, gfn1 uint64) func(*scene) error {
	return func(s *scene) error {
		return errors.Join(s.MapPage(s.p, 0, gfn0), s.MapPage(s.p, 1, gfn1))
	}
}

func forEachChange(t *testing.T, f func(t *testing.T, s *scene, do func(*scene) error) bool) {
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		t.Run(name, func(t *testing.T) {
			c := changes[name]
			for more := true; more; {
				s := newScene(t)
				if c.prepare != nil {
					s.must(c.prepare(s))
				}
				more = f(t, s, c.do)
			}
		})
	}
}

// Whichever step fails, the old state stands: contents, slots, bookkeeping and
// host resources.
func TestAFailedStepLeavesTheOldState(t *testing.T) {
	fail := 0
	forEachChange(t, func(t *testing.T, s *scene, do func(*scene) error) bool {
		fail++
		before := s.state()
		s.r.arm(fail, false)
		err := do(s)
		steps := slices.Clone(s.r.log)
		s.r.arm(0, false)
		if err == nil {
			fail = 0
			return false // only steps after success were left to fail
		}
		if !errors.Is(err, errInjected) || errors.Is(err, ErrBroken) {
			t.Fatalf("step %d: %v", fail, err)
		}
		if d := cmp.Diff(before, s.state()); d != "" {
			t.Errorf("step %d of %q: %s", fail, steps, d)
		}
		if len(s.n.open) != 0 {
			t.Errorf("step %d: still open: %v", fail, s.n.open)
		}
		s.must(do(s)) // and nothing stands in the way of another try
		return true
	})
}

// A slot must be gone before what it shows is unmapped.
func TestStepsAreUndoneLastFirst(t *testing.T) {
	s := newScene(t)
	s.must(s.MapPage(s.p, 0, ramFrame))
	s.r.arm(5, false) // start, start, map, slot, remap
	if err := s.MapPage(s.p, 0, hole1); !errors.Is(err, errInjected) {
		t.Fatal(err)
	}
	want := []string{"start 0xfeff8000+0x1000", "start 0x50000+0x1000", "map 0x1000", "slot 2 0xfeff8000+0x1000", "remap 0x1000",
		"remap 0x1000", "slot 2 0xfeff8000+0x0", "unmap 0x1000",
		"end 0x50000+0x1000", "end 0xfeff8000+0x1000"}
	if d := cmp.Diff(want, s.takeLog()); d != "" {
		t.Error(d)
	}
}

func TestAFailingMunmapDoesNotUndoTheChange(t *testing.T) {
	s := newScene(t)
	s.must(s.MapPage(s.p, 0, hole1))
	s.r.arm(3, false) // start, slot, unmap
	s.must(s.UnmapPage(s.p, 0))
	s.wantNothing(at4k(hole1))
	s.wantUnmapped(s.p, 0)
}

// When undoing fails as well, changes are refused from then on, accesses are
// still safe, and no notifier is left waiting.
func TestAFailedRollbackBreaksTheMemory(t *testing.T) {
	fail, broken := 0, 0
	forEachChange(t, func(t *testing.T, s *scene, do func(*scene) error) bool {
		fail++
		s.r.arm(fail, true)
		err := do(s)
		s.r.arm(0, false)
		if err == nil {
			fail = 0
			return false
		}
		if !errors.Is(err, errInjected) {
			t.Fatalf("step %d: %v", fail, err)
		}
		if len(s.n.open) != 0 {
			t.Errorf("step %d: still open: %v", fail, s.n.open)
		}
		if !errors.Is(err, ErrBroken) {
			return true // it failed before anything had to be undone
		}
		broken++
		if err := s.MapPage(s.p, 1, ramFrame); !errors.Is(err, ErrBroken) {
			t.Errorf("step %d: next change: %v", fail, err)
		}
		s.see(at4k(ramFrame), 8)
		return true
	})
	if broken == 0 {
		t.Error("no failed rollback was provoked")
	}
}
