// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account.

package device

import "testing"

func TestAccessesDoNotAllocate(t *testing.T) {
	b := NewPorts()
	for i := range uint64(40) {
		mustMap(t, b.Bus, "d", 0x100*i, 8, constant(1))
	}
	p := make([]byte, 64)
	if n := testing.AllocsPerRun(100, func() {
		b.In(0x302, 1, p)
		b.Out(0x305, 4, p)
		b.In(0xfff0, 2, p)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
