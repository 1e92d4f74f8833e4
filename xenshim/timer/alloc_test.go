// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account.

package timer

import "testing"

// The one-shot timer is armed once per tick of a Linux guest.
func TestSettingTheOneShotAllocatesNothing(t *testing.T) {
	r := newRig(1)
	if n := testing.AllocsPerRun(100, func() { r.SetSingleshot(0, 1<<40) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
