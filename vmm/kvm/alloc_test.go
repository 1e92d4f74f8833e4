// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account.

package kvm

import "testing"

func TestDecodeAllocatesNothing(t *testing.T) {
	pages := decodePages()
	var e Exit
	if n := testing.AllocsPerRun(100, func() {
		for _, p := range pages {
			decode(p, &e)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// What counts is what happens around the system call, so that a stand-in does.
func TestRunAndExitAllocateNothing(t *testing.T) {
	c := standIn(t)
	if n := testing.AllocsPerRun(100, func() {
		c.SetImmediateExit(true)
		c.Exit()
		c.RunRegs().RAX = 0
		c.MarkRegsDirty()
		c.SetImmediateExit(false)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
