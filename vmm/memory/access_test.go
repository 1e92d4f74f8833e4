// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestCopiesCrossPagesAndRegions(t *testing.T) {
	g := newRig(t, 1<<20)
	g.addSlot("next", 1<<20, 2*PageSize)
	big := strings.Repeat("0123456789abcdef", 3*copyChunk/16)
	g.must(g.WriteAt([]byte(big), 4095))
	if got := g.see(4095, len(big)); got != big {
		t.Error("large copy differs")
	}
	g.put(1<<20-2, "abcd") // from RAM into the slot
	g.want(1<<20-2, "abcd")
	g.want(1<<20, "cd")
}

func TestAccessIsAllOrNothing(t *testing.T) {
	g := newRig(t, 1<<20)
	g.put(1<<20-4, "keep")
	if err := g.WriteAt([]byte("gone!"), 1<<20-4); !errors.Is(err, ErrNoMemory) {
		t.Fatal(err)
	}
	g.want(1<<20-4, "keep")
	b := []byte("mine!")
	if err := g.ReadAt(b, 1<<20-4); !errors.Is(err, ErrNoMemory) || string(b) != "mine!" {
		t.Errorf("%v, buffer %q", err, b)
	}
	long := make([]byte, 2*copyChunk)
	if err := g.WriteAt(long, 1<<20-copyChunk-1); !errors.Is(err, ErrNoMemory) {
		t.Fatal(err)
	}
	g.want(1<<20-4, "keep")
}

func TestHostileAddresses(t *testing.T) {
	g := newRig(t, 1<<20)
	for _, gpa := range []uint64{1 << 20, LowLimit, HighBase - 1, HighBase, MaxGPA - 1, MaxGPA, 1 << 63, math.MaxUint64 - 1, math.MaxUint64} {
		if err := g.ReadAt(make([]byte, 8), gpa); !errors.Is(err, ErrNoMemory) {
			t.Errorf("read at %#x: %v", gpa, err)
		}
		if _, err := g.LoadUint32(gpa &^ 3); !errors.Is(err, ErrNoMemory) {
			t.Errorf("load at %#x: %v", gpa, err)
		}
		if _, err := g.Resolve(gpa&^7, 8); !errors.Is(err, ErrNoMemory) {
			t.Errorf("resolve at %#x: %v", gpa, err)
		}
	}
	for _, n := range []uint64{0, PageSize + 1, 1 << 40, math.MaxUint64} {
		if _, err := g.Resolve(0, n); !errors.Is(err, ErrRange) {
			t.Errorf("resolve of %#x bytes: %v", n, err)
		}
	}
	if _, err := g.Resolve(4000, 97); !errors.Is(err, ErrRange) {
		t.Errorf("resolve across pages: %v", err)
	}
	if err := g.ReadAt(nil, math.MaxUint64); !errors.Is(err, ErrNoMemory) {
		t.Errorf("empty read beyond the address space: %v", err)
	}
	if err := g.ReadAt(nil, 5); err != nil {
		t.Errorf("empty read: %v", err)
	}
}

func TestWords(t *testing.T) {
	g := newRig(t, 1<<20)
	p := g.newPages("page", 2)
	type words interface {
		LoadUint32(uint64) (uint32, error)
		StoreUint32(uint64, uint32) error
		CompareAndSwapUint32(uint64, uint32, uint32) (bool, error)
		OrUint32(uint64, uint32) (uint32, error)
		LoadUint64(uint64) (uint64, error)
		StoreUint64(uint64, uint64) error
	}
	for name, w := range map[string]words{"memory": g, "pages": p} {
		t.Run(name, func(t *testing.T) {
			const at = PageSize + 16
			g.must(w.StoreUint64(at, 0x1122334455667788))
			if v, err := w.LoadUint32(at + 4); err != nil || v != 0x11223344 {
				t.Errorf("%#x, %v", v, err)
			}
			if ok, err := w.CompareAndSwapUint32(at, 1, 2); err != nil || ok {
				t.Error("swapped the wrong value")
			}
			if ok, err := w.CompareAndSwapUint32(at, 0x55667788, 2); err != nil || !ok {
				t.Error("not swapped")
			}
			if old, err := w.OrUint32(at, 0x80000001); err != nil || old != 2 {
				t.Errorf("%#x, %v", old, err)
			}
			g.must(w.StoreUint32(at+4, 7))
			if v, err := w.LoadUint64(at); err != nil || v != 0x0000000780000003 {
				t.Errorf("%#x, %v", v, err)
			}
			for off := uint64(1); off < 8; off++ {
				_, e1 := w.LoadUint64(at + off)
				e2 := w.StoreUint64(at+off, 0)
				if !errors.Is(e1, ErrUnaligned) || !errors.Is(e2, ErrUnaligned) {
					t.Errorf("64 bit at +%d: %v, %v", off, e1, e2)
				}
				if off%4 == 0 {
					continue
				}
				_, e1 = w.LoadUint32(at + off)
				_, e2 = w.OrUint32(at+off, 1)
				_, e3 := w.CompareAndSwapUint32(at+off, 0, 1)
				if !errors.Is(e1, ErrUnaligned) || !errors.Is(e2, ErrUnaligned) || !errors.Is(e3, ErrUnaligned) || !errors.Is(w.StoreUint32(at+off, 0), ErrUnaligned) {
					t.Errorf("32 bit at +%d: %v, %v, %v", off, e1, e2, e3)
				}
			}
		})
	}
}

func TestPagesRefuseOffsetsBeyondTheirEnd(t *testing.T) {
	g := newRig(t, 1<<20)
	p := g.newPages("page", 1)
	for _, off := range []uint64{PageSize - 3, PageSize, 1 << 32, math.MaxUint64 - 2, math.MaxUint64} {
		if err := p.ReadAt(make([]byte, 4), off); !errors.Is(err, ErrRange) {
			t.Errorf("read at %#x: %v", off, err)
		}
		if err := p.WriteAt(make([]byte, 4), off); !errors.Is(err, ErrRange) {
			t.Errorf("write at %#x: %v", off, err)
		}
	}
	if _, err := p.LoadUint32(PageSize); !errors.Is(err, ErrRange) {
		t.Error(err)
	}
	for _, n := range []int{0, -1, maxPages + 1, math.MinInt} {
		if _, err := g.NewPages("bad", n); !errors.Is(err, ErrRange) {
			t.Errorf("%d pages: %v", n, err)
		}
	}
}

func TestEverythingFailsAfterClose(t *testing.T) {
	fds, maps := openFDs(t), memfdMappings(t)
	m, err := New(Config{Size: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := m.NewPages("page", 1)
	s, _ := m.AddSlot("slot", LowLimit, PageSize, 0)
	_ = m.MapPage(p, 0, 0xfeff8)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Error("second close:", err)
	}
	_, load := m.LoadUint32(0)
	_, resolve := m.Resolve(0, 1)
	_, add := m.AddSlot("x", LowLimit, PageSize, 0)
	_, pages := m.NewPages("x", 1)
	_, pageLoad := p.LoadUint32(0)
	for i, err := range []error{load, resolve, add, pages, pageLoad, m.ReadAt(make([]byte, 1), 0), m.WriteAt([]byte{1}, 0),
		p.WriteAt([]byte{1}, 0), m.MapPage(p, 0, 1), m.UnmapPage(p, 0), m.Remap(0, PageSize), m.Rehome(0xfeff8), m.Discard(0, 1), s.Delete(), s.Resize(2 * PageSize)} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if f, n := openFDs(t), memfdMappings(t); f != fds || n != maps {
		t.Errorf("descriptors %d -> %d, mappings %d -> %d", fds, f, maps, n)
	}
}

func TestDirtyTracking(t *testing.T) {
	g := newRig(t, 3<<30+1<<20)
	take := func() (out []uint64) {
		g.TakeDirty(func(gfn uint64) { out = append(out, gfn) })
		return out
	}
	g.put(0, "before")
	if g.DirtyTracking().Load() {
		t.Error("tracking is on from the start")
	}
	g.TrackDirty(true)
	if !g.DirtyTracking().Load() {
		t.Error("tracking was switched on and is said to be off")
	}
	g.put(2*PageSize-1, "ab")
	g.must(g.StoreUint32(HighBase+8, 1))
	g.MarkDirty(math.MaxUint64-1, 8)
	g.MarkDirty(LowLimit-1, PageSize)
	g.MarkDirty(0xfee00000, PageSize)
	want := []uint64{1, 2, LowLimit/PageSize - 1, HighBase / PageSize}
	got := take()
	if len(got) != len(want) {
		t.Fatalf("%#x, want %#x", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%#x, want %#x", got, want)
		}
	}
	if again := take(); len(again) != 0 {
		t.Errorf("taken twice: %#x", again)
	}
	p := g.newPages("pages", 2)
	wants := func(what string, want ...uint64) {
		t.Helper()
		if got := take(); !slices.Equal(got, want) {
			t.Errorf("%s: marked %#x, want %#x", what, got, want)
		}
	}
	g.must(p.WriteAt([]byte("nobody sees it"), 0))
	wants("a write to a page that is not mapped")
	g.must(g.MapPage(p, 0, 7))
	g.must(g.MapPage(p, 1, 9))
	wants("pages laid over frames", 7, 9)
	g.must(p.WriteAt([]byte("both"), PageSize-2))
	wants("a write to both", 7, 9)
	g.must(p.StoreUint32(PageSize, 1))
	wants("a word of the second", 9)
	_, err := p.CompareAndSwapUint32(0, 12345, 1)
	g.must(err)
	wants("an exchange that does not take place")
	_, err = p.OrUint32(8, 1)
	g.must(err)
	wants("a word of the first", 7)
	g.must(p.StoreUint64(PageSize+8, 1))
	wants("a long word of the second", 9)
	_, err = p.CompareAndSwapUint32(PageSize+16, 0, 1)
	g.must(err)
	wants("an exchange that takes place", 9)
	g.must(g.MapPage(p, 0, 8))
	wants("a page that moves", 7, 8)
	g.must(g.MapPage(p, 0, 9))
	wants("a page that displaces another", 8, 9)
	g.must(g.UnmapPage(p, 0))
	wants("a page taken away", 9)
	g.must(g.MapPage(p, 0, 0xfeff8))
	g.must(p.WriteAt([]byte("hole"), 0))
	wants("a page in a hole")
	g.must(g.Discard(20, 2))
	wants("frames that are freed", 20, 21)
	g.TrackDirty(false)
	if g.DirtyTracking().Load() {
		t.Error("tracking was switched off and is said to be on")
	}
	g.put(0, "after")
	if got := take(); len(got) != 0 {
		t.Errorf("tracked while off: %#x", got)
	}
}
