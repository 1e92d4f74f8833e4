// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"
	"testing"
)

func TestWordOperations(t *testing.T) {
	eachReader(t, func(t *testing.T, guard string, reader func(*Set) *Reader) {
		m := newGuestMemory(t, 1)
		s, _ := newTestSet(t, m, guard)
		r := reader(s)
		defer r.Close()
		c := activated(t, s, "c", 1*pageSize+0x100, 0x80)
		w := m.page(1).word(0x110)
		expect := func(op string, got uint32, ok bool, want, after uint32) {
			t.Helper()
			if !ok || got != want || w.Load() != after {
				t.Errorf("%s: %#x %v, word %#x; want %#x, word %#x", op, got, ok, w.Load(), want, after)
			}
		}
		ok := r.Store32(c, 0x10, 0xcafe0001)
		expect("store", 0, ok, 0, 0xcafe0001)
		v, ok := r.Load32(c, 0x10)
		expect("load", v, ok, 0xcafe0001, 0xcafe0001)
		v, ok = r.Or32(c, 0x10, 0xf0)
		expect("or", v, ok, 0xcafe0001, 0xcafe00f1)
		v, ok = r.And32(c, 0x10, 0xffff00f0)
		expect("and", v, ok, 0xcafe00f1, 0xcafe00f0)
		v, ok = r.Xchg32(c, 0x10, 7)
		expect("xchg", v, ok, 0xcafe00f0, 7)
		v, ok = r.CAS32(c, 0x10, 8, 9)
		expect("failed cas", v, ok, 7, 7)
		v, ok = r.CAS32(c, 0x10, 7, 9)
		expect("cas", v, ok, 7, 9)
		b, ok := r.Xchg8(c, 0x11, 0xff)
		expect("xchg8", uint32(b), ok, 0, 0xff09)
		b, ok = r.Xchg8(c, 0x11, 1)
		expect("xchg8", uint32(b), ok, 0xff, 0x109)
	})
}

// Every operation that does not lie within the range fails and touches nothing,
// whatever the offset: the frames around are not mapped and would fault.
func FuzzAccessStaysWithinTheRange(f *testing.F) {
	for _, off := range []uint32{0, 1, 3, 4, 0xfc, 0xff, 0x100, 0x7fffffff, 0xfffffffc, 0xffffffff} {
		f.Add(uint16(0xf00), uint16(0x100), off, uint16(4))
		f.Add(uint16(0x10), uint16(1), off, uint16(0))
		f.Add(uint16(3), uint16(0xffd), off, uint16(0x1000))
	}
	f.Fuzz(func(t *testing.T, start, length uint16, off uint32, count uint16) {
		gpa, n := uint64(start%pageSize), uint64(length)
		for _, guard := range Guards() {
			m := newGuestMemory(t, 1)
			s, r := newTestSet(t, m, guard)
			c := s.NewCache("c")
			err := c.Activate(pageSize+gpa, n)
			if fits := n > 0 && gpa+n <= pageSize; (err == nil) != fits {
				t.Fatalf("activate [%#x, +%#x): %v", gpa, n, err)
			}
			if err != nil {
				return
			}
			page := m.page(1)
			for o := uint32(0); o < pageSize; o += 4 {
				page.word(o).Store(o * 0x9e3779b9)
			}
			before := bytes.Clone(page.bytes)
			inside := func(size uint64) bool { return uint64(off)+size <= n }
			aligned := (gpa+uint64(off))%4 == 0

			v, ok := r.Load32(c, off)
			if ok != (inside(4) && aligned) {
				t.Fatalf("load at %#x of [%#x, +%#x): %v", off, gpa, n, ok)
			}
			if ok && v != binary.LittleEndian.Uint32(before[gpa+uint64(off):]) {
				t.Fatalf("load at %#x: %#x", off, v)
			}
			for _, op := range []func() (uint32, bool){
				func() (uint32, bool) { return r.Or32(c, off, 0) },
				func() (uint32, bool) { return r.And32(c, off, ^uint32(0)) },
				func() (uint32, bool) { return r.CAS32(c, off, v, v) },
				func() (uint32, bool) { return r.Xchg32(c, off, v) },
			} {
				if got, now := op(); now != ok || got != v {
					t.Fatalf("update at %#x: %#x %v, load was %#x %v", off, got, now, v, ok)
				}
			}
			if _, ok := r.Xchg8(c, off, 0); ok != inside(1) {
				t.Fatalf("xchg8 at %#x of %#x: %v", off, n, ok)
			} else if ok {
				page.bytes[gpa+uint64(off)] = before[gpa+uint64(off)]
			}
			buf := make([]byte, count)
			ok = r.ReadAt(c, buf, off)
			if ok != inside(uint64(count)) {
				t.Fatalf("read of %#x at %#x of %#x: %v", count, off, n, ok)
			}
			if ok && !bytes.Equal(buf, before[gpa+uint64(off):][:count]) {
				t.Fatal("read returned something else")
			}
			if !ok && !bytes.Equal(buf, make([]byte, count)) {
				t.Fatal("a failed read wrote to its buffer")
			}
			if r.WriteAt(c, buf, off) != ok {
				t.Fatalf("write of %#x at %#x of %#x: %v", count, off, n, !ok)
			}
			sig := &Signal{Shared: c, Pending: Bit{off, uint8(count)}, Mask: Bit{off, uint8(count)}, VCPU: c, Sel: Bit{off, 255}, Upcall: off}
			for _, op := range []func(*Signal) Result{r.Deliver, r.Unmask, r.Raise} {
				res := op(sig)
				if (res != Stale && res != StaleVCPU) != (inside(4) && aligned) {
					t.Fatalf("signal at %#x of [%#x, +%#x): %v", off, gpa, n, res)
				}
			}
			lo, hi := gpa+uint64(off), gpa+uint64(off)+4
			for i := range before {
				if page.bytes[i] != before[i] && (uint64(i) < lo || uint64(i) >= hi) {
					t.Fatalf("byte %#x changed; signal at %#x", i, lo)
				}
			}
			c.Deactivate()
			r.Close()
		}
	})
}

// The words next to the range are untouched by bit numbers beyond 31.
func TestBitNumbersNeverReachOutsideTheWord(t *testing.T) {
	eachGuard(t, func(t *testing.T, guard string) {
		m := newGuestMemory(t, 1)
		s, r := newTestSet(t, m, guard)
		c := activated(t, s, "c", 1*pageSize, pageSize)
		sig := &Signal{Shared: c, Pending: Bit{0x800, 255}, Mask: Bit{0x900, 32}, VCPU: c, Sel: Bit{0xa00, 33}, Upcall: 0xb00}
		if got := r.Deliver(sig); got != Raised {
			t.Fatal(got)
		}
		want := map[uint32]uint32{0x800: 1 << 31, 0xa00: 2, 0xb00: 1}
		for off := uint32(0); off < pageSize; off += 4 {
			if got := m.page(1).word(off).Load(); got != want[off] {
				t.Errorf("word at %#x is %#x, want %#x", off, got, want[off])
			}
		}
	})
}

// A guest that keeps changing a word cannot keep a section from ending.
func TestUpdatesOfAHammeredWordAreBounded(t *testing.T) {
	m := newGuestMemory(t, 1)
	s, r := newTestSet(t, m, "srcu")
	c := activated(t, s, "c", 1*pageSize, pageSize)
	w := m.page(1).word(0)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			w.Add(2)
		}
	}()
	succeeded := 0
	for range 20000 {
		if _, ok := r.Or32(c, 0, 1); ok {
			succeeded++
		}
	}
	stop.Store(true)
	<-done
	t.Logf("%d of 20000 updates got through", succeeded)
	if succeeded == 0 {
		t.Error("no update got through")
	}
}
