// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account.

package srcu

import "testing"

func TestGracePeriodsAllocateNothing(t *testing.T) {
	d := New(Options{SpinNs: -1})
	r := d.NewReader()
	defer r.Close()
	if n := testing.AllocsPerRun(1000, func() { d.Synchronize() }); n != 0 {
		t.Errorf("fast: %v allocations", n)
	}
	r.Enter()
	defer r.Exit()
	if n := testing.AllocsPerRun(1000, func() { d.SpinSynchronize(0) }); n != 0 {
		t.Errorf("slow: %v allocations", n)
	}
	if n := testing.AllocsPerRun(1000, func() { r.Enter(); r.Exit() }); n != 0 {
		t.Errorf("section: %v allocations", n)
	}
}

func TestGracePeriodsThatRestartAllocateNothing(t *testing.T) {
	d := New(Options{})
	r, neighbour := threadReader(t, d), threadReader(t, d)
	r.slot.begin()
	defer r.slot.end()
	for range 2 {
		if n := testing.AllocsPerRun(100, func() { d.Synchronize() }); n != 0 {
			t.Errorf("%v allocations", n)
		}
		neighbour.slot.begin()
		neighbour.slot.end()
		r.unseen()
	}
}
