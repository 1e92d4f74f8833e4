// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"xenvmm/xenshim/abi"
)

// checkLayout verifies what must hold for every planned image.
func checkLayout(t interface{ Fatalf(string, ...any) }, p Params, img *Image) {
	inRAM := func(r Range) bool {
		for _, x := range p.RAM {
			if r.GPA >= x.GPA && r.end() <= x.end() && r.end() > r.GPA {
				return true
			}
		}
		return false
	}
	for i, x := range img.Layout {
		if !inRAM(x.Range) {
			t.Fatalf("%s at %#x+%#x is outside RAM", x.Name, x.GPA, x.Size)
		}
		if x.content > x.Size {
			t.Fatalf("%s has more content than size", x.Name)
		}
		if i > 0 && img.Layout[i-1].end() > x.GPA {
			t.Fatalf("%s overlaps %s", x.Name, img.Layout[i-1].Name)
		}
		for _, r := range p.Reserved {
			if r.overlaps(x.Range) {
				t.Fatalf("%s at %#x overlaps a reserved range", x.Name, x.GPA)
			}
		}
	}
	var listed uint64
	for i, e := range img.MemoryMap {
		if !e.valid() {
			t.Fatalf("memory map entry %+v", e)
		}
		if i > 0 && img.MemoryMap[i-1].end() > e.GPA {
			t.Fatalf("memory map entries %d and %d overlap", i-1, i)
		}
		if e.Type == abi.MemmapRAM {
			if !inRAM(e.Range) {
				t.Fatalf("memory map says RAM at %#x+%#x", e.GPA, e.Size)
			}
			listed += e.Size
		}
	}
	var total, hidden uint64
	for _, r := range p.RAM {
		total += r.Size
	}
	for _, e := range img.MemoryMap {
		if e.Type != abi.MemmapRAM {
			for _, r := range p.RAM {
				if lo, hi := max(r.GPA, e.GPA), min(r.end(), e.end()); lo < hi {
					hidden += hi - lo
				}
			}
		}
	}
	if listed+hidden != total {
		t.Fatalf("memory map lists %#x RAM and hides %#x of %#x", listed, hidden, total)
	}
}

func TestEveryPlanIsConsistent(t *testing.T) {
	planned := 0
	rapid.Check(t, func(t *rapid.T) {
		page := func(name string, lo, hi uint64) uint64 { return rapid.Uint64Range(lo, hi).Draw(t, name) * pageSize }
		p := Params{CPUs: rapid.IntRange(1, 300).Draw(t, "cpus"), Cmdline: string(bytes.Repeat([]byte{'c'}, rapid.IntRange(0, 2047).Draw(t, "cmdline")))}
		low := page("low", 64, 0xd0000)
		p.RAM = []Range{{0, low}}
		if rapid.Bool().Draw(t, "high memory") {
			p.RAM = append([]Range{{fourGiB, page("high", 1, 1<<20)}}, p.RAM...)
		}
		spec := elfSpec{bits: 64}
		at := rapid.Uint64Range(0, low).Draw(t, "load")
		var entry uint64
		for i := range rapid.IntRange(1, 3).Draw(t, "segments") {
			n := rapid.IntRange(1, 5000).Draw(t, "size")
			spec.segs = append(spec.segs, segSpec{kind: ptLoad, flags: 7, paddr: at, data: pattern(n, uint32(i)), memsz: uint64(n) + rapid.Uint64Range(0, 100000).Draw(t, "bss")})
			entry = at
			at += spec.segs[i].memsz + rapid.Uint64Range(0, 10000).Draw(t, "gap")
		}
		spec.segs = append(spec.segs, pvhNote(le64(entry)))
		p.Kernel = Bytes("k", spec.build())
		for range rapid.IntRange(0, 3).Draw(t, "initrds") {
			n := rapid.Int64Range(1, 1<<24).Draw(t, "initrd")
			p.Initrds = append(p.Initrds, File{Name: "i", Data: bytes.NewReader(nil), Size: n})
		}
		for range rapid.IntRange(0, 2).Draw(t, "reserved") {
			p.Reserved = append(p.Reserved, Range{rapid.Uint64Range(0, low).Draw(t, "from"), rapid.Uint64Range(1, 1<<22).Draw(t, "len")})
		}
		img, err := Plan(p)
		if err != nil {
			if !errors.Is(err, ErrNoRoom) {
				t.Fatalf("%v", err)
			}
			return
		}
		planned++
		checkLayout(t, p, img)
	})
	// A property that never held anything would hold. About one plan in five
	// succeeds; the few of a short run may all be among the others.
	if planned == 0 && !testing.Short() {
		t.Error("no plan succeeded: nothing was checked")
	}
}

// TestSpaceAgainstABitmap compares the range set with one byte per address.
func TestSpaceAgainstABitmap(t *testing.T) {
	const n = 96
	rapid.Check(t, func(t *rapid.T) {
		var s space
		var model [n]bool
		for range rapid.IntRange(1, 12).Draw(t, "ops") {
			lo := rapid.Uint64Range(0, n-1).Draw(t, "lo")
			size := rapid.Uint64Range(1, n-lo).Draw(t, "size")
			add := rapid.Bool().Draw(t, "add")
			if add {
				s = s.add(Range{lo, size})
			} else {
				s = s.remove(Range{lo, size})
			}
			for i := lo; i < lo+size; i++ {
				model[i] = add
			}
		}
		all := func(lo, size uint64) bool {
			for i := lo; i < lo+size; i++ {
				if i >= n || !model[i] {
					return false
				}
			}
			return true
		}
		for i := range uint64(n) {
			if s.contains(Range{i, 1}) != model[i] {
				t.Fatalf("address %d: %v in %v", i, !model[i], s)
			}
		}
		w := Range{rapid.Uint64Range(0, n-1).Draw(t, "window"), rapid.Uint64Range(1, n).Draw(t, "window size")}
		size := rapid.Uint64Range(1, 20).Draw(t, "want")
		align := uint64(1) << rapid.IntRange(0, 4).Draw(t, "align")
		lowest, highest, any := uint64(0), uint64(0), false
		for at := uint64(0); at < n; at += align {
			if at >= w.GPA && at+size <= w.end() && all(at, size) {
				if !any {
					lowest = at
				}
				highest, any = at, true
			}
		}
		if at, ok := s.lowest(w, size, align); ok != any || at != lowest {
			t.Fatalf("lowest %d %v, want %d %v", at, ok, lowest, any)
		}
		if at, ok := s.highest(w, size, align); ok != any || at != highest {
			t.Fatalf("highest %d %v, want %d %v", at, ok, highest, any)
		}
	})
}
