// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account.

package gpc

import "testing"

func TestZeroAlloc(t *testing.T) {
	eachReader(t, func(t *testing.T, guard string, reader func(*Set) *Reader) {
		m := newGuestMemory(t, 1, 2)
		s, _ := newTestSet(t, m, guard)
		r := reader(s)
		defer r.Close()
		shared := activated(t, s, "shared_info", 1*pageSize, pageSize)
		vcpu := activated(t, s, "vcpu_info", 2*pageSize, 64)
		sig := portSignal(shared, vcpu, 5)
		s.OnRestore(func() {})
		buf := make([]byte, 64)
		check := func(what string, f func()) {
			t.Helper()
			if n := testing.AllocsPerRun(1000, f); n != 0 {
				t.Errorf("%s: %v allocations", what, n)
			}
		}
		check("Deliver", func() { r.Deliver(sig); r.And32(shared, sig.Pending.Off, 0); r.Xchg8(vcpu, 0, 0) })
		check("Unmask", func() { r.Or32(shared, sig.Mask.Off, 1<<sig.Mask.Bit); r.Unmask(sig) })
		check("Resume", func() { r.Resume(sig) })
		check("Raise", func() { r.Raise(sig) })
		check("Load32", func() { r.Load32(shared, 0) })
		check("copies", func() { r.ReadAt(vcpu, buf, 0); r.WriteAt(vcpu, buf, 0) })
		check("Refresh of a valid cache", func() { must(shared.Refresh()) })
		check("an invalidation elsewhere", func() { must(s.InvalidateStart(9*pageSize, pageSize, true)); s.InvalidateEnd(9*pageSize, pageSize) })
		check("an invalidation", func() { must(s.InvalidateStart(1*pageSize, pageSize, true)); s.InvalidateEnd(1*pageSize, pageSize) })
		check("a non-blocking invalidation", func() { must(s.InvalidateStart(1*pageSize, pageSize, false)); s.InvalidateEnd(1*pageSize, pageSize) })
		check("Deliver to a stale cache", func() {
			if r.Deliver(sig) != Stale {
				t.Fatal("not stale")
			}
		})
	})
}

func TestAddingToAHistogramAllocatesNothing(t *testing.T) {
	var h histogram
	if n := testing.AllocsPerRun(100, func() { h.add(77) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
