// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is guest memory done the slow way: bytes in maps, and the rules written
// down once more.
type model struct {
	size   uint64
	ram    map[uint64][]byte // by frame, made when written
	pages  [][]byte
	placed map[uint64]int // frame to page
	slots  map[*Slot]*modelSlot
	max    int
}

type modelSlot struct {
	gpa  uint64
	data []byte
}

func (s *modelSlot) end() uint64 { return s.gpa + uint64(len(s.data)) }

func (m *model) isRAM(gfn uint64) bool {
	ranges, _ := Layout(m.size)
	return slices.ContainsFunc(ranges, func(r Range) bool { return gfn >= r.GPA/PageSize && gfn < r.End()/PageSize })
}

func (m *model) slotAt(gfn uint64) *modelSlot {
	for _, s := range m.slots {
		if gfn >= s.gpa/PageSize && gfn < s.end()/PageSize {
			return s
		}
	}
	return nil
}

// frame is the page of bytes that a frame shows, or nil.
func (m *model) frame(gfn uint64) []byte {
	if i, ok := m.placed[gfn]; ok {
		return m.pages[i]
	}
	if s := m.slotAt(gfn); s != nil {
		return s.data[gfn*PageSize-s.gpa:][:PageSize]
	}
	if !m.isRAM(gfn) {
		return nil
	}
	if m.ram[gfn] == nil {
		m.ram[gfn] = make([]byte, PageSize)
	}
	return m.ram[gfn]
}

// window is the bytes of a range, or nil if any is missing.
func (m *model) window(gpa uint64, n int) []*byte {
	out := make([]*byte, 0, n)
	for i := range uint64(n) {
		a := gpa + i
		if a < gpa || a >= MaxGPA {
			return nil
		}
		f := m.frame(a / PageSize)
		if f == nil {
			return nil
		}
		out = append(out, &f[a%PageSize])
	}
	return out
}

// used is how many slots KVM has.
func (m *model) used() int {
	ranges, _ := Layout(m.size)
	n := len(ranges) + len(m.slots)
	for gfn := range m.placed {
		if !m.isRAM(gfn) {
			n++
		}
	}
	return n
}

// free tells whether a slot may take a range.
func (m *model) room(gpa, size uint64, self *Slot) error {
	switch {
	case (gpa|size)%PageSize != 0:
		return ErrUnaligned
	case size == 0, size > MaxSize, gpa >= MaxGPA, gpa+size > MaxGPA:
		return ErrRange
	}
	for s, ms := range m.slots {
		if s != self && gpa < ms.end() && ms.gpa < gpa+size {
			return ErrOverlap
		}
	}
	for gfn := gpa / PageSize; gfn < (gpa+size)/PageSize; gfn++ {
		if _, ok := m.placed[gfn]; ok || m.isRAM(gfn) {
			return ErrOverlap
		}
	}
	return nil
}

func (m *model) mapPage(i int, gfn uint64) error {
	if i < 0 || i >= len(m.pages) || gfn >= MaxGPA/PageSize {
		return ErrRange
	}
	was, placed := m.where(i)
	if placed && was == gfn {
		return nil
	}
	_, taken := m.placed[gfn]
	if !taken && !m.isRAM(gfn) {
		if m.slotAt(gfn) != nil {
			return ErrOverlap
		}
		if !(placed && !m.isRAM(was)) && m.used() == m.max {
			return ErrNoSlots
		}
	}
	if placed {
		delete(m.placed, was)
	}
	m.placed[gfn] = i
	return nil
}

func (m *model) where(i int) (gfn uint64, ok bool) {
	for gfn, j := range m.placed {
		if i == j {
			return gfn, true
		}
	}
	return 0, false
}

var (
	anyFrame = rapid.OneOf(
		rapid.SampledFrom([]uint64{0, 1, 2, LowLimit/PageSize - 1, LowLimit / PageSize, HighBase/PageSize - 1, HighBase / PageSize, HighBase/PageSize + 1,
			hole1, hole2, 0xd0000, 0xd0001, 0xd0002, MaxGPA/PageSize - 1, MaxGPA / PageSize, math.MaxUint64}),
		rapid.SampledFrom([]uint64{0, 1, hole1, hole2, 0xd0000, 0xd0001}),
		rapid.Uint64())
	anyAddress = rapid.Custom(func(t *rapid.T) uint64 {
		near := anyFrame.Draw(t, "near")
		if rapid.Bool().Draw(t, "wrapped") {
			return near * PageSize
		}
		return near*PageSize + rapid.Uint64Range(0, 2*PageSize).Draw(t, "offset") - PageSize
	})
	anySlotSize = rapid.OneOf(rapid.SampledFrom([]uint64{0, PageSize, 2 * PageSize, 3 * PageSize}),
		rapid.SampledFrom([]uint64{1, PageSize + 1, MaxSize + PageSize, math.MaxUint64, 1 << 63}))
)

const modelPages = 3

// machine drives the real thing and the model side by side.
type machine struct {
	g  *rig
	p  *Pages
	m  *model
	ss []*Slot // all ever made
}

func (x *machine) same(t *rapid.T, got, want error) bool {
	t.Helper()
	if want == nil && got != nil || want != nil && !errors.Is(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	return want == nil
}

func (x *machine) slot(t *rapid.T) (*Slot, *modelSlot) {
	if len(x.ss) == 0 {
		t.Skip("no slot")
	}
	s := rapid.SampledFrom(x.ss).Draw(t, "slot")
	return s, x.m.slots[s]
}

func (x *machine) actions() map[string]func(*rapid.T) {
	g, m := x.g, x.m
	index := rapid.OneOf(rapid.IntRange(0, modelPages-1), rapid.IntRange(0, modelPages-1), rapid.Int())
	return map[string]func(*rapid.T){
		"map": func(t *rapid.T) {
			i, gfn := index.Draw(t, "page"), anyFrame.Draw(t, "gfn")
			x.same(t, g.MapPage(x.p, i, gfn), m.mapPage(i, gfn))
		},
		"unmap": func(t *rapid.T) {
			i := index.Draw(t, "page")
			gfn, ok := m.where(i)
			want := ErrNotMapped
			if i < 0 || i >= modelPages {
				want = ErrRange
			} else if ok {
				want = nil
				delete(m.placed, gfn)
			}
			x.same(t, g.UnmapPage(x.p, i), want)
		},
		"add slot": func(t *rapid.T) {
			gpa, size := anyFrame.Draw(t, "gfn")*PageSize, anySlotSize.Draw(t, "size")
			want := m.room(gpa, size, nil)
			if want == nil && m.used() == m.max {
				want = ErrNoSlots
			}
			s, err := g.AddSlot("slot", gpa, size, 0)
			if x.same(t, err, want) {
				m.slots[s] = &modelSlot{gpa, make([]byte, size)}
				x.ss = append(x.ss, s)
			}
		},
		"move slot": func(t *rapid.T) {
			s, ms := x.slot(t)
			gpa := anyAddress.Draw(t, "gpa")
			want := ErrNotMapped
			if ms != nil {
				want = m.room(gpa, uint64(len(ms.data)), s)
			}
			if x.same(t, s.Move(gpa), want) {
				ms.gpa = gpa
			}
		},
		"resize slot": func(t *rapid.T) {
			s, ms := x.slot(t)
			size := anySlotSize.Draw(t, "size")
			want := ErrNotMapped
			if ms != nil {
				want = m.room(ms.gpa, size, s)
			}
			if x.same(t, s.Resize(size), want) {
				data := make([]byte, size)
				copy(data, ms.data)
				ms.data = data
			}
		},
		"delete slot": func(t *rapid.T) {
			s, ms := x.slot(t)
			var want error
			if ms == nil {
				want = ErrNotMapped
			}
			x.same(t, s.Delete(), want)
			delete(m.slots, s)
		},
		"write": func(t *rapid.T) {
			gpa := anyAddress.Draw(t, "gpa")
			b := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "bytes")
			w := m.window(gpa, len(b))
			var want error
			if w == nil {
				want = ErrNoMemory
			}
			if x.same(t, g.WriteAt(b, gpa), want) {
				for i := range b {
					*w[i] = b[i]
				}
			}
		},
		"read": func(t *rapid.T) {
			gpa, n := anyAddress.Draw(t, "gpa"), rapid.IntRange(1, 3*PageSize).Draw(t, "n")
			w := m.window(gpa, n)
			var want error
			if w == nil {
				want = ErrNoMemory
			}
			b := make([]byte, n)
			if x.same(t, g.ReadAt(b, gpa), want) {
				for i := range b {
					if b[i] != *w[i] {
						t.Fatalf("byte %#x is %#x, want %#x", gpa+uint64(i), b[i], *w[i])
					}
				}
			}
		},
		"or word": func(t *rapid.T) {
			gpa, bits := anyAddress.Draw(t, "gpa"), rapid.Uint32().Draw(t, "bits")
			w := m.window(gpa, 4)
			want := error(nil)
			if gpa%4 != 0 {
				want = ErrUnaligned
			} else if w == nil {
				want = ErrNoMemory
			}
			old, err := g.OrUint32(gpa, bits)
			if x.same(t, err, want) {
				for i := range 4 {
					if byte(old>>(8*i)) != *w[i] {
						t.Fatalf("old word %#x", old)
					}
					*w[i] |= byte(bits >> (8 * i))
				}
			}
		},
		"write page": func(t *rapid.T) {
			off := rapid.OneOf(rapid.Uint64Range(0, modelPages*PageSize), rapid.Uint64()).Draw(t, "offset")
			b := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "bytes")
			var want error
			end := off + uint64(len(b))
			if end < off || end > modelPages*PageSize {
				want = ErrRange
			}
			if x.same(t, x.p.WriteAt(b, off), want) {
				for i := range uint64(len(b)) {
					m.pages[(off+i)/PageSize][(off+i)%PageSize] = b[i]
				}
			}
		},
		"remap": func(t *rapid.T) {
			gfn, n := anyFrame.Draw(t, "gfn"), rapid.Uint64Range(1, 3).Draw(t, "n")
			var want error
			for i := range n {
				if gfn+i < gfn || m.frame(gfn+i) == nil {
					want = ErrNoMemory
				}
			}
			gpa := gfn * PageSize // may wrap, and then names other frames
			if gpa/PageSize != gfn || gpa >= MaxGPA || gpa+n*PageSize > MaxGPA {
				t.Skip("covered by the table tests")
			}
			x.same(t, g.Remap(gpa, n*PageSize), want)
		},
		"rehome": func(t *rapid.T) {
			gfn := anyFrame.Draw(t, "gfn")
			var want error
			if _, ok := m.placed[gfn]; !ok {
				want = ErrNotMapped
			} else if m.isRAM(gfn) {
				want = ErrRange
			}
			x.same(t, g.Rehome(gfn), want)
		},
		"discard": func(t *rapid.T) {
			gfn, n := anyFrame.Draw(t, "gfn"), rapid.Uint64Range(0, 3).Draw(t, "n")
			var want error
			if gfn >= MaxGPA/PageSize || n == 0 || gfn+n > MaxGPA/PageSize {
				want = ErrRange
			} else {
				for i := range n {
					if !m.isRAM(gfn + i) {
						want = ErrNoMemory
					}
				}
			}
			if x.same(t, g.Discard(gfn, n), want) {
				for i := range n {
					delete(m.ram, gfn+i)
				}
			}
		},
		"": func(t *rapid.T) { x.check(t) },
	}
}

// check compares everything that both sides know.
func (x *machine) check(t *rapid.T) {
	for i := range modelPages {
		gfn, ok := x.g.PageGFN(x.p, i)
		want, wantOK := x.m.where(i)
		if gfn != want || ok != wantOK {
			t.Fatalf("page %d at %#x %v, want %#x %v", i, gfn, ok, want, wantOK)
		}
		if ok {
			if p, j, there := x.g.Overlay(gfn); !there || p != x.p || j != i {
				t.Fatalf("frame %#x has page %d %v, want %d", gfn, j, there, i)
			}
		}
		b := make([]byte, PageSize)
		if err := x.p.ReadAt(b, uint64(i)*PageSize); err != nil || !slices.Equal(b, x.m.pages[i]) {
			t.Fatalf("page %d differs (%v)", i, err)
		}
	}
	if got, want := len(x.g.kvm.slots), x.m.used(); got != want {
		t.Fatalf("KVM has %d slots, want %d", got, want)
	}
	for _, ms := range x.m.slots {
		if !slices.Contains(kvmRanges(x.g.kvm), Range{ms.gpa, uint64(len(ms.data))}) {
			t.Fatalf("KVM lacks slot [%#x, %#x)", ms.gpa, ms.end())
		}
	}
	if len(x.g.n.open) != 0 {
		t.Fatalf("open transactions %v", x.g.n.open)
	}
}

func kvmRanges(k *fakeKVM) (out []Range) {
	for _, r := range k.slots {
		out = append(out, r)
	}
	return out
}

func TestMemoryAgainstAModel(t *testing.T) {
	maps := memfdMappings(t)
	rapid.Check(t, func(rt *rapid.T) {
		r := &recorder{quiet: true}
		c := Config{Size: LowLimit + 2*PageSize, MaxSlots: 6}
		g := &rig{t: t, r: r, kvm: &fakeKVM{r: r, slots: map[uint32]Range{}}, n: &fakeNotifier{r: r}}
		c.Slots = g.kvm
		mem, err := newMemory(c, linux{})
		if err != nil {
			rt.Fatal(err)
		}
		defer func() {
			if err := mem.Close(); err != nil {
				rt.Error(err)
			}
		}()
		mem.AddNotifier(g.n)
		g.Memory = mem
		p, err := mem.NewPages("pages", modelPages)
		if err != nil {
			rt.Fatal(err)
		}
		x := &machine{g: g, p: p, m: &model{
			size: c.Size, ram: map[uint64][]byte{}, placed: map[uint64]int{}, slots: map[*Slot]*modelSlot{}, max: c.MaxSlots,
		}}
		for range modelPages {
			x.m.pages = append(x.m.pages, make([]byte, PageSize))
		}
		rt.Repeat(x.actions())
	})
	if n := memfdMappings(t); n != maps {
		t.Errorf("mappings %d -> %d", maps, n)
	}
}
