// SPDX-License-Identifier: Apache-2.0

package kvmtest

import (
	"os"
	"strings"
	"testing"
)

// Emulated tells whether this host's processors are QEMU's emulation, as in the
// lab. Its SVM drops the shadow of STI at an entry to the guest, so that an
// interrupt may come between STI and HLT; on real processors none does.
func Emulated(t testing.TB) bool {
	t.Helper()
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(info), "QEMU TCG CPU")
}
