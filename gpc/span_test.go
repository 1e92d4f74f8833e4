// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// crossing is a span of 16 bytes, 6 at the end of frame 1 and 10 at the start of
// frame 3.
func crossing(t testing.TB, s *Set) *Span {
	t.Helper()
	sp := s.NewSpan("area")
	if err := sp.Activate(Piece{2*pageSize - 6, 6}, Piece{3 * pageSize, 10}); err != nil {
		t.Fatal(err)
	}
	return sp
}

func TestSplitCutsAtThePageBoundary(t *testing.T) {
	for _, c := range []struct {
		gpa, n        uint64
		first, second Piece
	}{
		{0, 1, Piece{0, 1}, Piece{1, 0}},
		{pageSize - 1, 1, Piece{pageSize - 1, 1}, Piece{pageSize, 0}},
		{pageSize - 1, 2, Piece{pageSize - 1, 1}, Piece{pageSize, 1}},
		{3 * pageSize, pageSize, Piece{3 * pageSize, pageSize}, Piece{4 * pageSize, 0}},
		{3*pageSize + 8, pageSize, Piece{3*pageSize + 8, pageSize - 8}, Piece{4 * pageSize, 8}},
	} {
		if first, second := Split(c.gpa, c.n); first != c.first || second != c.second {
			t.Errorf("Split(%#x, %d) = %v, %v", c.gpa, c.n, first, second)
		}
	}
}

func TestASpanIsOneRangeInTwoPages(t *testing.T) {
	eachGuard(t, func(t *testing.T, guard string) {
		m := newGuestMemory(t, 1, 2, 3)
		s, r := newTestSet(t, m, guard)
		sp := crossing(t, s)
		want := []byte("0123456789abcdef")
		got := make([]byte, 16)
		if !sp.WriteAt(r, want, 0) || !sp.ReadAt(r, got, 0) || !bytes.Equal(got, want) {
			t.Fatalf("read %q", got)
		}
		if head := m.page(1).bytes[pageSize-6:]; string(head) != "012345" {
			t.Errorf("end of the first page: %q", head)
		}
		if tail := m.page(3).bytes[:10]; string(tail) != "6789abcdef" {
			t.Errorf("start of the second: %q", tail)
		}
		for off := range uint32(16) {
			if old, ok := sp.Xchg8(r, off, 'x'); !ok || old != want[off] {
				t.Errorf("byte %d: %q, %v", off, old, ok)
			}
		}
		for i, gfn := range []uint64{1, 3} {
			n := m.dirty[gfn].Load()
			if n != []int64{7, 11}[i] { // one write, and one exchange for each byte
				t.Errorf("frame %d marked %d times", gfn, n)
			}
		}
		if m.dirty[2].Load() != 0 {
			t.Error("the frame between was marked")
		}
	})
}

func TestAnInvalidationOfEitherPageMakesASpanStale(t *testing.T) {
	eachGuard(t, func(t *testing.T, guard string) {
		m := newGuestMemory(t, 1, 2, 3)
		s, r := newTestSet(t, m, guard)
		sp := crossing(t, s)
		b := make([]byte, 16)
		for _, gfn := range []uint64{1, 3} {
			m.replace(t, s, gfn)
			// Even the part in the other page fails: what a caller writes in steps
			// does not begin unless all of it can be done.
			if sp.ReadAt(r, b[:1], 0) || sp.WriteAt(r, b[:1], 15) || sp.WriteAt(r, b, 0) {
				t.Fatalf("access after frame %d was exchanged", gfn)
			}
			_, inFirst := sp.Xchg8(r, 0, 1)
			_, inSecond := sp.Xchg8(r, 15, 1)
			if inFirst != (gfn == 3) || inSecond != (gfn == 1) {
				t.Fatalf("after frame %d was exchanged: bytes %v, %v", gfn, inFirst, inSecond)
			}
			if err := sp.Refresh(); err != nil {
				t.Fatal(err)
			}
			if !sp.WriteAt(r, b, 0) {
				t.Fatal("stale after Refresh")
			}
		}
		m.replace(t, s, 2)
		if !sp.WriteAt(r, b, 0) {
			t.Error("made stale by an invalidation of the frame between its pages")
		}
		if err := s.InvalidateStart(0, math.MaxUint64, true); err != nil {
			t.Fatal(err)
		}
		if sp.ReadAt(r, b, 0) {
			t.Error("access while everything is invalidated")
		}
		s.InvalidateEnd(0, math.MaxUint64)
		if err := sp.Refresh(); err != nil || !sp.ReadAt(r, b, 0) {
			t.Error("not valid again", err)
		}
	})
}

func TestASpanWithoutMemoryInOnePage(t *testing.T) {
	m := newGuestMemory(t, 1, 2, 3)
	s, r := newTestSet(t, m, "")
	sp := crossing(t, s)
	b := make([]byte, 16)
	must(s.InvalidateStart(3*pageSize, pageSize, true))
	page := m.put(3, nil)
	s.InvalidateEnd(3*pageSize, pageSize)
	if err := sp.Refresh(); !errors.Is(err, ErrNoMemory) || !Away(err) || sp.ReadAt(r, b, 0) {
		t.Fatalf("refresh: %v", err)
	}
	m.put(3, page)
	if err := sp.Refresh(); err != nil || !sp.ReadAt(r, b, 0) {
		t.Fatal("not valid when memory is back:", err)
	}
}

func TestASpanThatMovesLeavesItsOldPlace(t *testing.T) {
	m := newGuestMemory(t, 1, 2, 3, 4)
	s, r := newTestSet(t, m, "")
	sp := crossing(t, s)
	b := []byte("0123456789abcdef")
	if err := sp.Activate(Split(3*pageSize-3, 16)); err != nil {
		t.Fatal(err)
	}
	if !sp.WriteAt(r, b, 0) || string(m.page(2).bytes[pageSize-3:]) != "012" || string(m.page(3).bytes[:13]) != "3456789abcdef" {
		t.Error("not written to the new place")
	}
	if !bytes.Equal(m.page(1).bytes, make([]byte, pageSize)) {
		t.Error("written to the old place")
	}
	for name, bad := range map[string][2]Piece{
		"nothing":               {{}, {}},
		"empty first piece":     {{pageSize, 0}, {2 * pageSize, 4}},
		"too long":              {{pageSize, pageSize}, {2 * pageSize, 1}},
		"length that wraps":     {{pageSize, 8}, {2 * pageSize, math.MaxUint64}},
		"piece crosses a page":  {{2*pageSize - 4, 8}, {}},
		"second crosses a page": {{pageSize, 4}, {3*pageSize - 4, 8}},
		"no memory":             {{9 * pageSize, 4}, {}},
		"second has no memory":  {{pageSize, 4}, {9 * pageSize, 4}},
	} {
		if sp.Activate(bad[0], bad[1]) == nil {
			t.Errorf("%s: accepted", name)
		}
		if got := make([]byte, 16); !sp.ReadAt(r, got, 0) || !bytes.Equal(got, b) {
			t.Errorf("%s: the old place was left", name)
		}
	}
	sp.Deactivate()
	if err := sp.Refresh(); err != ErrInactive || sp.ReadAt(r, b, 0) || sp.WriteAt(r, nil, 0) {
		t.Errorf("after Deactivate: %v", err)
	}
	if n := len(s.index.Load().all()); n != 0 {
		t.Errorf("%d entries are left in the index", n)
	}
}

// A span moves between places that are cut differently while it is written and
// its pages are exchanged. Once Activate has returned, nothing may be written by
// the old cut, and an old page is unmapped at once, so that an access to it
// would fault.
func TestASpanNeverMixesTwoPlaces(t *testing.T) {
	eachGuard(t, func(t *testing.T, guard string) {
		m := newGuestMemory(t, 1, 2, 3)
		s, _ := newTestSet(t, m, guard)
		sp := crossing(t, s)
		stop := make(chan struct{})
		var written atomic.Int64
		var writers sync.WaitGroup
		for range 2 {
			writers.Go(func() {
				r := s.NewReader()
				defer r.Close()
				want := []byte("0123456789abcdef")
				for {
					select {
					case <-stop:
						return
					default:
					}
					if sp.WriteAt(r, want, 0) {
						written.Add(1)
					} else {
						_ = sp.Refresh()
					}
					runtime.Gosched()
				}
			})
		}
		for i := range 30 {
			first := uint64(1 + i*7%15)
			must(sp.Activate(Piece{2*pageSize - first, first}, Piece{3 * pageSize, 16 - first}))
			beyond := m.page(3).bytes[16-first : 16]
			clear(beyond)
			now := written.Load()
			until(t, "the new place is written", func() bool { return written.Load() > now+4 })
			if !bytes.Equal(beyond, make([]byte, first)) {
				t.Errorf("%q was written beyond the second piece", beyond)
			}
			m.replace(t, s, uint64(1+i%3))
		}
		close(stop)
		writers.Wait()
	})
}

func FuzzSpanStaysWithinItsRange(f *testing.F) {
	f.Add(uint16(6), uint16(10), uint32(0), uint16(16), uint32(5))
	f.Add(uint16(1), uint16(0), uint32(0), uint16(1), uint32(0))
	f.Add(uint16(100), uint16(200), uint32(math.MaxUint32), uint16(2), uint32(1<<31))
	f.Add(uint16(2000), uint16(2096), uint32(2000), uint16(0), uint32(4096))
	f.Fuzz(func(t *testing.T, first, second uint16, off uint32, n uint16, at uint32) {
		m := newGuestMemory(t, 1, 3)
		s, r := newTestSet(t, m, "")
		sp := s.NewSpan("area")
		a, b := uint64(first)%pageSize+1, uint64(second)%pageSize
		if sp.Activate(Piece{2*pageSize - a, a}, Piece{3 * pageSize, b}) != nil {
			if a+b <= pageSize {
				t.Fatal("refused")
			}
			return
		}
		data := bytes.Repeat([]byte{0xaa}, int(n))
		fits := uint64(off)+uint64(n) <= a+b
		if sp.WriteAt(r, data, off) != fits || sp.ReadAt(r, data, off) != fits {
			t.Fatalf("%d bytes at %d of %d", n, off, a+b)
		}
		if _, ok := sp.Xchg8(r, at, 0xbb); ok != (uint64(at) < a+b) {
			t.Fatalf("byte %d of %d", at, a+b)
		}
		area := append(bytes.Clone(m.page(1).bytes[pageSize-a:]), m.page(3).bytes[:b]...)
		for i, c := range area {
			want := byte(0)
			if i >= int(off) && uint64(i) < uint64(off)+uint64(n) && fits {
				want = 0xaa
			}
			if uint32(i) == at {
				want = 0xbb
			}
			if c != want {
				t.Fatalf("byte %d is %#x, want %#x", i, c, want)
			}
		}
		if !bytes.Equal(m.page(1).bytes[:pageSize-a], make([]byte, pageSize-a)) ||
			!bytes.Equal(m.page(3).bytes[b:], make([]byte, pageSize-b)) {
			t.Fatal("wrote outside the span")
		}
	})
}
