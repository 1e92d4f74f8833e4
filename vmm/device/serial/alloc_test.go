// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account.

package serial

import "testing"

func TestAccessesDoNotAllocate(t *testing.T) {
	u := New(Config{})
	u.Write(regMCR, []byte{mcrRTS})
	p := []byte{'x'}
	if n := testing.AllocsPerRun(100, func() {
		u.Write(regData, p)
		u.Input(p)
		u.Read(regData, p)
		u.Read(regLSR, p)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
