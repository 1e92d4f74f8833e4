// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	ramFrame  = 0x50
	ramFrame2 = 0x51
	hole1     = 0xfeff8
	hole2     = 0xfeff9
)

func at4k(gfn uint64) uint64 { return gfn * PageSize }

// overlayRig has two pages "one" and "two", and RAM frames that say "ram0",
// "ram1".
func overlayRig(t *testing.T) (*rig, *Pages) {
	g := newRig(t, 1<<20)
	p := g.newPages("pages", 2)
	g.must(p.WriteAt([]byte("one"), 0))
	g.must(p.WriteAt([]byte("two"), PageSize))
	g.put(at4k(ramFrame), "ram0")
	g.put(at4k(ramFrame2), "ram1")
	return g, p
}

func (g *rig) wantPage(p *Pages, idx int, gfn uint64) {
	g.t.Helper()
	at, mapped := g.PageGFN(p, idx)
	if !mapped || at != gfn {
		g.t.Errorf("page %d at %#x, %v; want %#x", idx, at, mapped, gfn)
	}
	q, i, ok := g.Overlay(gfn)
	if !ok || q != p || i != idx {
		g.t.Errorf("frame %#x has %v %d %v", gfn, q, i, ok)
	}
}

func (g *rig) wantUnmapped(p *Pages, idx int) {
	g.t.Helper()
	if at, mapped := g.PageGFN(p, idx); mapped {
		g.t.Errorf("page %d still at %#x", idx, at)
	}
}

func TestOverlayOverRAM(t *testing.T) {
	g, p := overlayRig(t)
	before := g.Changes()
	hva, err := g.Resolve(at4k(ramFrame), PageSize)
	g.must(err)
	g.must(g.MapPage(p, 0, ramFrame))
	g.want(at4k(ramFrame), "one")
	g.wantPage(p, 0, ramFrame)
	g.put(at4k(ramFrame), "eno")
	b := make([]byte, 3)
	g.must(p.ReadAt(b, 0))
	if string(b) != "eno" {
		t.Errorf("page reads %q", b)
	}
	g.must(g.MapPage(p, 1, ramFrame)) // displaces
	g.want(at4k(ramFrame), "two")
	g.wantUnmapped(p, 0)
	g.must(g.MapPage(p, 1, ramFrame2)) // moves
	g.want(at4k(ramFrame), "ram0")
	g.want(at4k(ramFrame2), "two")
	g.must(g.UnmapPage(p, 1))
	g.want(at4k(ramFrame2), "ram1")
	g.wantUnmapped(p, 1)
	if g.Changes() != before {
		t.Errorf("%d slot changes", g.Changes()-before)
	}
	if again, _ := g.Resolve(at4k(ramFrame), PageSize); again != hva {
		t.Error("the frame changed its host address")
	}
}

func TestOverlayInAHole(t *testing.T) {
	g, p := overlayRig(t)
	g.wantNothing(at4k(hole1))
	g.must(g.MapPage(p, 0, hole1))
	g.want(at4k(hole1), "one")
	g.must(g.MapPage(p, 0, hole2)) // hole to hole
	g.wantNothing(at4k(hole1))
	g.want(at4k(hole2), "one")
	g.wantPage(p, 0, hole2)
	g.must(g.MapPage(p, 1, hole2)) // displaces, without a slot change
	g.want(at4k(hole2), "two")
	g.wantUnmapped(p, 0)
	g.must(g.MapPage(p, 0, hole1))
	g.must(g.MapPage(p, 0, hole2)) // moves onto an occupied one
	g.wantNothing(at4k(hole1))
	g.want(at4k(hole2), "one")
	g.wantUnmapped(p, 1)
	g.must(g.MapPage(p, 0, ramFrame)) // hole to RAM
	g.wantNothing(at4k(hole2))
	g.want(at4k(ramFrame), "one")
	g.must(g.MapPage(p, 0, hole1)) // RAM to hole
	g.want(at4k(ramFrame), "ram0")
	g.must(g.UnmapPage(p, 0))
	g.wantNothing(at4k(hole1))
	if len(g.kvm.slots) != 1 {
		t.Errorf("slots %v", g.kvm.slots)
	}
	if err := g.UnmapPage(p, 0); !errors.Is(err, ErrNotMapped) {
		t.Error(err)
	}
}

func TestOverlayArguments(t *testing.T) {
	g, p := overlayRig(t)
	other := newRig(t, 1<<20).newPages("other", 1)
	g.addSlot("bar", LowLimit, 4*PageSize)
	for name, err := range map[string]error{
		"negative index": g.MapPage(p, -1, ramFrame),
		"large index":    g.MapPage(p, 2, ramFrame),
		"huge index":     g.UnmapPage(p, math.MaxInt),
		"frame overflow": g.MapPage(p, 0, math.MaxUint64),
		"frame at limit": g.MapPage(p, 0, MaxGPA/PageSize),
		"wraps to RAM":   g.MapPage(p, 0, 1<<52+ramFrame),
		"foreign pages":  g.MapPage(other, 0, ramFrame),
	} {
		if !errors.Is(err, ErrRange) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := g.MapPage(p, 0, LowLimit/PageSize+1); !errors.Is(err, ErrOverlap) {
		t.Errorf("in a slot: %v", err)
	}
	g.must(g.MapPage(p, 0, MaxGPA/PageSize-1)) // KVM decides about the rest
	g.want(MaxGPA-PageSize, "one")
	if _, ok := g.PageGFN(p, 5); ok {
		t.Error("page 5 of 2 is mapped")
	}
}

func TestMappingAgainIsNoChange(t *testing.T) {
	g, p := overlayRig(t)
	for _, gfn := range []uint64{ramFrame, hole1} {
		g.must(g.MapPage(p, 0, gfn))
		g.takeLog()
		g.must(g.MapPage(p, 0, gfn))
		if l := g.takeLog(); len(l) != 0 {
			t.Errorf("%v", l)
		}
	}
}

func TestOrderOfATransaction(t *testing.T) {
	g, p := overlayRig(t)
	for _, tt := range []struct {
		name string
		do   func() error
		want []string
	}{
		{"over RAM", func() error { return g.MapPage(p, 0, ramFrame) },
			[]string{"start 0x50000+0x1000", "remap 0x1000", "end 0x50000+0x1000"}},
		{"RAM to hole", func() error { return g.MapPage(p, 0, hole1) },
			[]string{"start 0xfeff8000+0x1000", "start 0x50000+0x1000", "map 0x1000", "slot 1 0xfeff8000+0x1000", "remap 0x1000",
				"end 0x50000+0x1000", "end 0xfeff8000+0x1000"}},
		{"hole to hole", func() error { return g.MapPage(p, 0, hole2) },
			[]string{"start 0xfeff9000+0x1000", "start 0xfeff8000+0x1000", "slot 1 0xfeff9000+0x1000", "end 0xfeff8000+0x1000", "end 0xfeff9000+0x1000"}},
		{"another home", func() error { return g.Rehome(hole2) },
			[]string{"map 0x1000", "start 0xfeff9000+0x1000", "slot 1 0xfeff9000+0x0", "slot 1 0xfeff9000+0x1000", "unmap 0x1000", "end 0xfeff9000+0x1000"}},
		{"unmap", func() error { return g.UnmapPage(p, 0) },
			[]string{"start 0xfeff9000+0x1000", "slot 1 0xfeff9000+0x0", "unmap 0x1000", "end 0xfeff9000+0x1000"}},
		{"remap", func() error { return g.Remap(0, 2*PageSize) },
			[]string{"start 0x0+0x2000", "remap 0x2000", "end 0x0+0x2000"}},
		{"discard", func() error { return g.Discard(1, 2) },
			[]string{"start 0x1000+0x2000", "punch 0x2000", "end 0x1000+0x2000"}},
	} {
		g.takeLog()
		gen := g.Generation()
		if err := tt.do(); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if d := cmp.Diff(tt.want, g.takeLog()); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
		if g.Generation() != gen+1 {
			t.Errorf("%s: generation %d -> %d", tt.name, gen, g.Generation())
		}
	}
}

func TestRemapKeepsContents(t *testing.T) {
	g, p := overlayRig(t)
	s := g.addSlot("slot", 1<<20, 2*PageSize)
	g.put(1<<20, "slot")
	g.must(g.MapPage(p, 0, ramFrame))
	g.must(g.MapPage(p, 1, 1<<20/PageSize+2))
	g.must(g.Remap(0, 1<<20+3*PageSize))
	g.want(at4k(ramFrame), "one")
	g.want(at4k(ramFrame2), "ram1")
	g.want(1<<20, "slot")
	g.want(1<<20+2*PageSize, "two")
	g.put(at4k(ramFrame), "new")
	b := make([]byte, 3)
	g.must(p.ReadAt(b, 0))
	if string(b) != "new" {
		t.Errorf("%q", b)
	}
	for name, err := range map[string]error{
		"unmapped end": g.Remap(0, 1<<20+4*PageSize),
		"unmapped":     g.Remap(at4k(hole1), PageSize),
	} {
		if !errors.Is(err, ErrNoMemory) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"empty":    g.Remap(0, 0),
		"overflow": g.Remap(MaxGPA-PageSize, ^uint64(0xfff)),
	} {
		if !errors.Is(err, ErrRange) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := g.Remap(1, PageSize); !errors.Is(err, ErrUnaligned) {
		t.Error(err)
	}
	g.must(s.Delete())
}

func TestRehomeChangesTheHostAddress(t *testing.T) {
	g, p := overlayRig(t)
	g.must(g.MapPage(p, 0, hole1))
	old, err := g.Resolve(at4k(hole1), 1)
	g.must(err)
	g.must(g.Rehome(hole1))
	now, err := g.Resolve(at4k(hole1), 1)
	g.must(err)
	if now == old {
		t.Error("same host address")
	}
	g.want(at4k(hole1), "one")
	g.must(g.MapPage(p, 0, hole2)) // the new home is the one that counts
	g.want(at4k(hole2), "one")
	if err := g.Rehome(hole1); !errors.Is(err, ErrNotMapped) {
		t.Error(err)
	}
	g.must(g.MapPage(p, 0, ramFrame))
	if err := g.Rehome(ramFrame); !errors.Is(err, ErrRange) {
		t.Error(err)
	}
}

func TestDiscardReadsZeroAndSparesThePageAbove(t *testing.T) {
	g, p := overlayRig(t)
	g.must(g.MapPage(p, 0, ramFrame))
	g.must(g.Discard(ramFrame, 2))
	g.want(at4k(ramFrame), "one")
	g.want(at4k(ramFrame2), "")
	g.must(g.UnmapPage(p, 0))
	g.want(at4k(ramFrame), "")
	g.put(at4k(ramFrame), "new")
	g.want(at4k(ramFrame), "new")
	for name, err := range map[string]error{
		"hole":       g.Discard(hole1, 1),
		"past RAM":   g.Discard(1<<20/PageSize-1, 2),
		"huge count": g.Discard(0, 1<<39),
	} {
		if !errors.Is(err, ErrNoMemory) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"nothing":        g.Discard(0, 0),
		"frame overflow": g.Discard(math.MaxUint64, 1),
		"count overflow": g.Discard(1, math.MaxUint64),
		"sum overflow":   g.Discard(MaxGPA/PageSize-1, 2),
	} {
		if !errors.Is(err, ErrRange) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDiscardAcrossTheHole(t *testing.T) {
	g := newRig(t, 3<<30+2*PageSize)
	g.put(HighBase, "high")
	if err := g.Discard(LowLimit/PageSize-1, 2); !errors.Is(err, ErrNoMemory) {
		t.Error(err)
	}
	g.want(HighBase, "high")
	g.must(g.Discard(HighBase/PageSize, 2))
	g.want(HighBase, "")
}
