// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account.

package device_test

import "testing"

func TestNoAccessAllocates(t *testing.T) {
	m := newMachine(t)
	p := make([]byte, 4)
	for _, port := range fuzzPorts {
		for _, size := range []int{1, 2, 4} {
			if n := testing.AllocsPerRun(100, func() {
				m.ports.In(port, size, p[:size])
				clear(p)
				m.ports.Out(port, size, p[:size])
			}); n != 0 {
				t.Errorf("port %#x size %d: %v allocations", port, size, n)
			}
		}
	}
}
