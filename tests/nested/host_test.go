// SPDX-License-Identifier: Apache-2.0

package nested

import (
	"os"
	"slices"
	"strings"
	"testing"

	"xenvmm/tests/lab/kernel"
)

// expectation is what is known of a lab host, so that a capability that is not
// found where it must be is a failure and not a skipped test.
type expectation struct {
	name string
	xen  bool // KVM_CAP_XEN_HVM with event channels
	// all runs the whole suite; else what a preemptible kernel may change.
	run string
}

const everything = "^TestKVM"

// expectations is the capability matrix. On the RT kernel the ways to wait and to
// interrupt are what may differ; the rest is the same source as 6.12.
func expectations() []expectation {
	return []expectation{
		{name: "debian-6.12", xen: true, run: everything},
		{name: "debian-6.1", run: everything},
		{name: "debian-6.12-rt", xen: true, run: "^TestKVM(Storm|Matrix|Kernel|Idle|Kick|Guests)"},
	}
}

// selected are the hosts to run on.
func selected(t *testing.T) []expectation {
	all := expectations()
	names := os.Getenv("XENVMM_NESTED_HOSTS")
	if names == "" {
		return all
	}
	var out []expectation
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(e expectation) bool { return e.name == strings.TrimSpace(name) })
		if i < 0 {
			t.Fatalf("XENVMM_NESTED_HOSTS: unknown host %q", name)
		}
		out = append(out, all[i])
	}
	return out
}

// needsXen tells whether a test is about what KVM itself has for Xen guests.
// Without that, it has to be skipped, and with it, must not be.
func needsXen(test string) bool {
	for _, s := range []string{
		"TestKVMPeer", "TestKVMLinesStayWithThisProgram", "TestKVMKernelLosesNothingWhileSharedInfoMoves",
		"trap=kvm", "TestKVMHypercallsComeByTheTrapThatWasChosen/kvm", "TestKVMKernelDeliversWhatTheHostSends/",
	} {
		if strings.Contains(test, s) {
			return true
		}
	}
	return false
}

// TestEveryLabHostIsInTheMatrix: a kernel that can be a host and is not tested
// is one nobody knows about.
func TestEveryLabHostIsInTheMatrix(t *testing.T) {
	var have []string
	for _, e := range expectations() {
		have = append(have, e.name)
	}
	for _, s := range kernel.Specs() {
		if s.Host && !slices.Contains(have, s.Name) {
			t.Errorf("no expectation for lab host %s", s.Name)
		}
	}
}
