// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account.

package debugport

import "testing"

func TestAccessesDoNotAllocate(t *testing.T) {
	d := New(nil)
	p := []byte{1}
	if n := testing.AllocsPerRun(100, func() { d.Write(0, p); d.Read(0, p) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
