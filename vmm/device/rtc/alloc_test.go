// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account.

package rtc

import "testing"

func TestAccessesDoNotAllocate(t *testing.T) {
	k := New(Config{})
	p := []byte{regSeconds}
	if n := testing.AllocsPerRun(100, func() {
		p[0] = regSeconds
		k.Write(0, p)
		k.Read(1, p)
		k.Write(1, p)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
