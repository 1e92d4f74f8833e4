// SPDX-License-Identifier: Apache-2.0

//go:build !race

package gpc

import "testing"

func TestSpanAccessesAllocateNothing(t *testing.T) {
	eachGuard(t, func(t *testing.T, guard string) {
		m := newGuestMemory(t, 1, 3)
		s, r := newTestSet(t, m, guard)
		sp := crossing(t, s)
		b := make([]byte, 16)
		if n := testing.AllocsPerRun(1000, func() {
			if !sp.WriteAt(r, b, 0) || !sp.ReadAt(r, b, 0) {
				t.Fatal("not valid")
			}
			sp.Xchg8(r, 5, 1)
			must(sp.Refresh())
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
