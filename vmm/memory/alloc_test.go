// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account.

package memory

import "testing"

// paths are the accesses that must not allocate, each over RAM, a page over
// RAM, and a page in a hole.
func paths(tb testing.TB) (map[string]func(gpa uint64), []uint64) {
	g := newRig(tb, 1<<20)
	p := g.newPages("pages", 2)
	g.must(g.MapPage(p, 0, ramFrame))
	g.must(g.MapPage(p, 1, hole1))
	b := make([]byte, 64)
	return map[string]func(gpa uint64){
		"ReadAt":      func(gpa uint64) { _ = g.ReadAt(b, gpa) },
		"WriteAt":     func(gpa uint64) { _ = g.WriteAt(b, gpa) },
		"LoadUint32":  func(gpa uint64) { _, _ = g.LoadUint32(gpa) },
		"StoreUint64": func(gpa uint64) { _ = g.StoreUint64(gpa, 1) },
		"OrUint32":    func(gpa uint64) { _, _ = g.OrUint32(gpa, 0) },
		"Resolve":     func(gpa uint64) { _, _ = g.Resolve(gpa, PageSize) },
		"PagesLoad":   func(uint64) { _, _ = p.LoadUint32(0) },
		"PagesRead":   func(uint64) { _ = p.ReadAt(b, 8) },
	}, []uint64{0, at4k(ramFrame), at4k(hole1)}
}

func TestAccessAllocatesNothing(t *testing.T) {
	fs, gpas := paths(t)
	for name, f := range fs {
		for _, gpa := range gpas {
			if n := testing.AllocsPerRun(200, func() { f(gpa) }); n != 0 {
				t.Errorf("%s at %#x: %v allocations", name, gpa, n)
			}
		}
	}
}

func TestMarkingDirtyAllocatesNothing(t *testing.T) {
	g := newRig(t, 1<<20)
	g.TrackDirty(true)
	if n := testing.AllocsPerRun(100, func() { g.MarkDirty(0, PageSize) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAccess(b *testing.B) {
	fs, gpas := paths(b)
	for name, f := range fs {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f(gpas[2])
			}
		})
	}
}

func BenchmarkLoadParallel(b *testing.B) {
	fs, gpas := paths(b)
	f := fs["LoadUint32"]
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			f(gpas[0])
		}
	})
}

func BenchmarkChange(b *testing.B) {
	m, err := New(Config{Size: 64 << 20})
	must(b, err)
	defer m.Close()
	p, err := m.NewPages("page", 1)
	must(b, err)
	b.Run("over RAM and back", func(b *testing.B) {
		for b.Loop() {
			must(b, m.MapPage(p, 0, ramFrame))
			must(b, m.UnmapPage(p, 0))
		}
	})
	b.Run("into a hole and back", func(b *testing.B) {
		for b.Loop() {
			must(b, m.MapPage(p, 0, hole1))
			must(b, m.UnmapPage(p, 0))
		}
	})
	b.Run("add, move and delete a slot", func(b *testing.B) {
		for b.Loop() {
			s, err := m.AddSlot("slot", 0xd0000000, 1<<20, 0)
			must(b, err)
			must(b, s.Move(0xd4000000))
			must(b, s.Delete())
		}
	})
}
