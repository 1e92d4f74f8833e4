// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account.

package pcihost

import "testing"

func TestAccessesDoNotAllocate(t *testing.T) {
	h := New(nil)
	if err := h.Plug(0, newSpace(t)); err != nil {
		t.Fatal(err)
	}
	a, p := []byte{0x10, 0, 0, 0x80}, make([]byte, 4)
	if n := testing.AllocsPerRun(100, func() { h.Write(0, a); h.Read(4, p); h.Write(4, p) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
