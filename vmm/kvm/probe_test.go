// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestProbeRowsAreComplete(t *testing.T) {
	for _, c := range probe(func(Cap) (int, error) { return 0, unix.EINVAL }) {
		if c.Name == "" || c.MinKernel == "" || c.Use == "" || c.Remedy == "" || strings.HasPrefix(c.Name, "capability") {
			t.Errorf("incomplete row: %+v", c)
		}
		if c.OK() {
			t.Errorf("%s is there on a host that has nothing", c.Name)
		}
	}
}

func TestMissingNamesEveryNeededCapabilityAndOnlyThose(t *testing.T) {
	// Bits of SYNC_REGS are missing; XEN_HVM is absent, which is no error.
	caps := probe(func(c Cap) (int, error) {
		switch c {
		case CapSyncRegs:
			return int(SyncRegs), nil
		case CapX86MSRFilter, CapXenHVM:
			return 0, nil
		}
		return 0x7fffffff, nil
	})
	err := Missing(caps)
	if err == nil {
		t.Fatal("nothing missing")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "SYNC_REGS") || !strings.Contains(lines[1], "X86_MSR_FILTER") || !strings.Contains(lines[1], "5.10") {
		t.Errorf("%q", lines)
	}
	if err := Missing(probe(func(Cap) (int, error) { return 0x7fffffff, nil })); err != nil {
		t.Error(err)
	}
}
