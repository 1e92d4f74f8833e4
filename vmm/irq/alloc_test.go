// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account.

package irq

import "testing"

func TestUpcallAllocatesNothing(t *testing.T) {
	f, c := newFake(2)
	f.sent = make([]msi, 0, 1<<16)
	f.kicked = make([]int, 0, 1<<16)
	c.SetVector(0, 0x20)
	_ = c.SetCallback(Callback{Type: CallbackVector, Vector: 0x30})
	in := &injector{}
	if n := testing.AllocsPerRun(1000, func() { c.Upcall(0); c.Upcall(1); _ = c.Enter(1, in) }); n != 0 {
		t.Errorf("%v allocations an upcall, want 0", n)
	}
}
