// SPDX-License-Identifier: Apache-2.0

package gnttab

import (
	"testing"

	"pgregory.net/rapid"

	"xenvmm/xenshim/abi"
)

// TestTableAgainstModel keeps a list of who maps what and predicts each status
// and the use bits of every entry from it.
func TestTableAgainstModel(t *testing.T) {
	type held struct {
		m     *Mapping
		ref   uint32
		frame uint32
		write bool
		epoch int
	}
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t, 2)
		const refs = 4 // 8..11
		var (
			hold    []held
			granted [refs]struct {
				flags uint16
				dom   abi.DomID
				frame uint32
			}
			epoch int
		)
		users := func(ref uint32) (readers, writers int, frame uint32) {
			for _, h := range hold {
				if h.ref == ref && h.epoch == epoch {
					readers++
					frame = h.frame
					if h.write {
						writers++
					}
				}
			}
			return readers, writers, frame
		}
		rt.Repeat(map[string]func(*rapid.T){
			"grant": func(rt *rapid.T) {
				i := rapid.IntRange(0, refs-1).Draw(rt, "ref")
				g := &granted[i]
				g.flags = rapid.SampledFrom([]uint16{0, 1, 1, 1, 2, 5}).Draw(rt, "flags")
				g.dom = abi.DomID(rapid.SampledFrom([]int{0, 0, 0, 3}).Draw(rt, "dom"))
				g.frame = uint32(rapid.IntRange(15, 24).Draw(rt, "frame"))
				use := uint16(0) // a correct guest keeps bits that are set
				r, w, _ := users(uint32(8 + i))
				if r > 0 {
					use |= abi.GTFReading
				}
				if w > 0 {
					use |= abi.GTFWriting
				}
				f.grant(uint32(8+i), g.flags|use, g.dom, g.frame)
			},
			"map": func(rt *rapid.T) {
				i := rapid.IntRange(0, refs-1).Draw(rt, "ref")
				write := rapid.Bool().Draw(rt, "write")
				g := granted[i]
				r, _, frame := users(uint32(8 + i))
				want := abi.GNTSTOkay
				switch {
				case r == 0 && (g.flags&3 != 1 || g.dom != 0), write && g.flags&4 != 0:
					want = abi.GNTSTGeneralError
				case r == 0 && (g.frame < 16 || g.frame > 23):
					want = abi.GNTSTBadPage
				}
				if r == 0 {
					frame = g.frame
				}
				m, s := f.Map(uint32(8+i), write)
				if s != want {
					rt.Fatalf("map %d write=%v of %+v with %d users: %v, want %v", 8+i, write, g, r, s, want)
				}
				if s == abi.GNTSTOkay {
					hold = append(hold, held{m, uint32(8 + i), frame, write, epoch})
				}
			},
			"unmap": func(rt *rapid.T) {
				if len(hold) == 0 {
					rt.Skip()
				}
				i := rapid.IntRange(0, len(hold)-1).Draw(rt, "i")
				if s := hold[i].m.Unmap(); s != abi.GNTSTOkay {
					rt.Fatal(s)
				}
				hold = append(hold[:i], hold[i+1:]...)
			},
			"reset": func(rt *rapid.T) {
				if rapid.IntRange(0, 9).Draw(rt, "rare") != 0 {
					rt.Skip()
				}
				if err := f.Reset(); err != nil {
					rt.Fatal(err)
				}
				epoch++
				clear(granted[:])
			},
			"": func(rt *rapid.T) {
				if f.Mapped() != len(hold) {
					rt.Fatalf("%d mapped, model %d", f.Mapped(), len(hold))
				}
				for _, h := range hold {
					if h.m.GFN() != uint64(h.frame) {
						rt.Fatalf("mapping of %d is frame %d, model %d", h.ref, h.m.GFN(), h.frame)
					}
				}
				for i, g := range granted {
					want := g.flags
					r, w, _ := users(uint32(8 + i))
					if r > 0 {
						want |= abi.GTFReading
					}
					if w > 0 {
						want |= abi.GTFWriting
					}
					if got := f.flags(uint32(8 + i)); got != want {
						rt.Fatalf("entry %d: flags %#x, model %#x", 8+i, got, want)
					}
				}
			},
		})
	})
}

// FuzzEntries maps, copies and unmaps while the table holds arbitrary bytes.
func FuzzEntries(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 16, 0, 0, 0}, uint32(8), true)
	f.Add([]byte{5, 0, 0, 0, 16, 0, 0, 0}, uint32(8), false)
	f.Add([]byte{1, 0, 0, 0, 255, 255, 255, 255}, uint32(511), false)
	f.Fuzz(func(t *testing.T, data []byte, ref uint32, write bool) {
		x := newFixture(t, 2)
		if len(data) > abi.PageSize {
			data = data[:abi.PageSize]
		}
		_, off := entry(ref)
		if err := x.mem.WriteAt(0, data[:min(len(data), abi.PageSize-int(off))], off); err != nil {
			t.Fatal(err)
		}
		m, s := x.Map(ref, write)
		if (s == abi.GNTSTOkay) != (m != nil) {
			t.Fatal(s)
		}
		if m != nil {
			if !x.ram.Contains(m.GFN()<<abi.PageShift, abi.PageSize) || ref >= 512 {
				t.Fatalf("mapped frame %#x by %d", m.GFN(), ref)
			}
			if err := m.ReadAt(make([]byte, 8), 0); err != nil {
				t.Fatal(err)
			}
			m.Unmap()
		}
		if s := x.CopyFrom(ref, make([]byte, len(data)), ref); s == abi.GNTSTOkay && uint64(ref)+uint64(len(data)) > abi.PageSize {
			t.Fatal("copy left the page")
		}
		if x.Mapped() != 0 {
			t.Fatal("still mapped")
		}
	})
}

func BenchmarkMapUnmap(b *testing.B) {
	f := newFixture(b, 1)
	f.grant(8, abi.GTFPermitAccess, 0, 16)
	for b.Loop() {
		m, _ := f.Map(8, true)
		m.Unmap()
	}
}
