// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account.

package reset

import "testing"

func TestAccessesDoNotAllocate(t *testing.T) {
	f := func(string) {}
	k := NewKeyboard(f)
	p := make([]byte, 1)
	for i, d := range []dev{k.Data(), k.Command(), NewControlA(f), NewControl(f), NewSleep(f)} {
		if n := testing.AllocsPerRun(100, func() { d.Read(0, p); p[0] = 0xfe; d.Write(0, p) }); n != 0 {
			t.Errorf("device %d: %v allocations", i, n)
		}
	}
}
