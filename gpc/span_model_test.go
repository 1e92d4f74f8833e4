// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// spanModel is what a span is to do, one byte at a time.
type spanModel struct {
	pages map[uint64][]byte // contents by frame; nil: no memory
	at    []uint64          // the address of each byte; none: inactive
	stale map[uint64]bool   // frames of the span exchanged since the last refresh
}

// fresh reports whether an access may succeed.
func (m *spanModel) fresh() bool {
	for _, gpa := range m.at {
		if m.stale[gpa/pageSize] {
			return false
		}
	}
	return len(m.at) > 0
}

func (m *spanModel) byteAt(gpa uint64) *byte { return &m.pages[gpa/pageSize][gpa%pageSize] }

func (m *spanModel) hasMemory(at []uint64) bool {
	for _, gpa := range at {
		if m.pages[gpa/pageSize] == nil {
			return false
		}
	}
	return true
}

// refresh makes pages of the span valid, in order, up to one without memory.
func (m *spanModel) refresh() {
	for _, gpa := range m.at {
		if m.pages[gpa/pageSize] == nil {
			return
		}
		m.stale[gpa/pageSize] = false
	}
}

func addresses(pieces ...Piece) (at []uint64) {
	for _, p := range pieces {
		for i := range p.N {
			at = append(at, p.GPA+i)
		}
	}
	return at
}

func drawPiece(t *rapid.T, label string, least uint64) Piece {
	n := rapid.Uint64Range(least, 40).Draw(t, label+" length")
	// At the end of a page or at the start of one, as areas that cross are; also
	// both in one page, and the same bytes twice.
	gpa := rapid.Uint64Range(1, 3).Draw(t, label+" frame") * pageSize
	if rapid.Bool().Draw(t, label+" at the end") {
		gpa += pageSize - n
	}
	return Piece{gpa, n}
}

func TestSpansAgreeWithAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mem := &guestMemory{pages: map[uint64]*hostPage{}}
		model := &spanModel{pages: map[uint64][]byte{}, stale: map[uint64]bool{}}
		for gfn := uint64(1); gfn <= 3; gfn++ {
			mem.pages[gfn], model.pages[gfn] = newHostPage(), make([]byte, pageSize)
		}
		defer func() {
			for _, p := range mem.pages {
				p.unmap()
			}
		}()
		s, err := NewSet(mem, Options{Guard: rapid.SampledFrom(Guards()).Draw(t, "guard")})
		must(err)
		r := s.NewReader()
		defer r.Close()
		sp := s.NewSpan("area")

		change := func(gfn uint64, page *hostPage, contents []byte) {
			must(s.InvalidateStart(gfn*pageSize, pageSize, true))
			if old := mem.put(gfn, page); old != nil {
				old.unmap()
			}
			s.InvalidateEnd(gfn*pageSize, pageSize)
			model.pages[gfn], model.stale[gfn] = contents, true
		}
		access := func(t *rapid.T) (off uint32, b []byte, ok bool) {
			off = rapid.OneOf(rapid.Uint32Range(0, 90), rapid.SampledFrom([]uint32{1 << 31, 1<<32 - 1})).Draw(t, "offset")
			b = rapid.SliceOfN(rapid.Byte(), 0, 90).Draw(t, "bytes")
			return off, b, model.fresh() && uint64(off)+uint64(len(b)) <= uint64(len(model.at))
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				for gfn, want := range model.pages {
					if want != nil && !bytes.Equal(mem.pages[gfn].bytes, want) {
						t.Fatalf("frame %d differs", gfn)
					}
				}
			},
			"activate": func(t *rapid.T) {
				first, second := drawPiece(t, "first", 1), drawPiece(t, "second", 0)
				at := addresses(first, second)
				moves := sp.parts.Load().first != first || sp.parts.Load().second != second
				err := sp.Activate(first, second)
				if moves && (err == nil) != model.hasMemory(at) || !moves && err != nil {
					t.Fatalf("activate %v %v: %v", first, second, err)
				}
				if err == nil {
					model.at = at
					model.refresh()
				}
			},
			"deactivate": func(t *rapid.T) { sp.Deactivate(); model.at = nil },
			"refresh": func(t *rapid.T) {
				err := sp.Refresh()
				switch {
				case len(model.at) == 0:
					if err != ErrInactive {
						t.Fatal(err)
					}
				case model.hasMemory(model.at) != (err == nil) || err != nil && !errors.Is(err, ErrNoMemory):
					t.Fatal(err)
				}
				model.refresh()
			},
			"exchange page": func(t *rapid.T) {
				change(rapid.Uint64Range(1, 3).Draw(t, "frame"), newHostPage(), make([]byte, pageSize))
			},
			"take page away": func(t *rapid.T) { change(rapid.Uint64Range(1, 3).Draw(t, "frame"), nil, nil) },
			"write": func(t *rapid.T) {
				off, b, ok := access(t)
				if sp.WriteAt(r, b, off) != ok {
					t.Fatalf("%d bytes at %d: want %v", len(b), off, ok)
				}
				for i := range b {
					if ok {
						*model.byteAt(model.at[int(off)+i]) = b[i]
					}
				}
			},
			"read": func(t *rapid.T) {
				off, b, ok := access(t)
				if sp.ReadAt(r, b, off) != ok {
					t.Fatalf("%d bytes at %d: want %v", len(b), off, ok)
				}
				for i := range b {
					if ok && b[i] != *model.byteAt(model.at[int(off)+i]) {
						t.Fatalf("byte %d", i)
					}
				}
			},
			"exchange byte": func(t *rapid.T) {
				off, b, _ := access(t)
				ok := uint64(off) < uint64(len(model.at)) && !model.stale[model.at[off]/pageSize]
				old, got := sp.Xchg8(r, off, uint8(len(b)))
				if got != ok || ok && old != *model.byteAt(model.at[off]) {
					t.Fatalf("byte at %d: %#x, %v", off, old, got)
				}
				if ok {
					*model.byteAt(model.at[off]) = uint8(len(b))
				}
			},
		})
	})
}
