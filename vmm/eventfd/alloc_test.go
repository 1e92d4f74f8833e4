// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account, so the claim is only checked
// without it.

package eventfd

import "testing"

func TestFiringAllocatesNothing(t *testing.T) {
	e := newEvent(t)
	s := &Source[int]{fd: e.FD(), sink: SinkFunc[int](func(int, uint64) {})}
	var buf [8]byte
	if n := testing.AllocsPerRun(1000, func() { _ = e.Signal(); s.fire(7, &buf) }); n != 0 {
		t.Errorf("%v allocations an event, want 0", n)
	}
}
