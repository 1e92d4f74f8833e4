// SPDX-License-Identifier: Apache-2.0

package linux

import (
	"regexp"
	"slices"
	"testing"
)

// expected is a warning of the guest's kernel that is no fault of ours.
type expected struct {
	pattern string
	why     string
}

// expectedWarnings are those that Linux prints on a PVH guest of Xen itself, and
// those of the processor that the lab emulates.
func expectedWarnings() []expected {
	const pvh, emulated = "as on Xen: a PVH guest has none", "the lab's emulated processor"
	return []expected{
		{`^PCI: (Fatal: No config space access function found|System does not support PCI)$`, pvh},
		{`^cpu \d+ spinlock event irq \d+$`, "as on Xen: printed without a level"},
		{`^ *#\d+`, "the list of processors that come up, printed without a level"},
		{`^ACPI BIOS|^i8042: |^platform rtc_cmos`, pvh},
		{`^Grant table initialized$`, "as on Xen: printed without a level"},
		{`^hrtimer: interrupt took \d+ ns$`, "a guest of an emulated processor that has others to serve"},
		{`^amd_pstate: `, "no _CPC in the ACPI tables: as on Xen"},
		{`^(RETBleed|Spectre V2|Speculative |GDS|MDS|TAA|SRBDS|Register File Data|VMSCAPE|TSA|ITS|Transient)`, emulated + " has no microcode"},
		{`microcode`, emulated + " has no microcode"},
		// Its XSETBV does not leave the nested guest, so that KVM cannot bring
		// CPUID leaf 0xd up to date: what follows is the kernel's report.
		{`^-+\[ cut here \]-+$|^XSAVE consistency problem: |^WARNING: CPU: 0 PID: 0 at arch/x86/kernel/fpu/xstate.c:|^Modules linked in:`, emulated},
		{`^CPU: 0 (UID: 0 )?PID: 0 Comm: swapper|^RIP: |^Code: |^R[A-Z0-9]{2}: |^[A-Z]{2}: |^CR2: |^PKRU: |^Call Trace:|^</?TASK>|^\? ?[a-z_]+\+0x`, emulated},
		{`^ ?[a-z0-9_.]+\+0x[0-9a-f]+/0x[0-9a-f]+$|^---\[ end trace|^CPUID\[0d, |^Hardware name: `, emulated},
	}
}

// unexpected are the warnings that nothing explains.
func unexpected(warnings []string) (left []string) {
	var known []*regexp.Regexp
	for _, e := range expectedWarnings() {
		known = append(known, regexp.MustCompile(e.pattern))
	}
	for _, w := range warnings {
		if w != "" && !slices.ContainsFunc(known, func(r *regexp.Regexp) bool { return r.MatchString(w) }) {
			left = append(left, w)
		}
	}
	return left
}

func TestAWarningThatNothingExplainsIsFound(t *testing.T) {
	got := unexpected([]string{
		"PCI: System does not support PCI", "cpu 7 spinlock event irq 29", // these are
		"xen:grant_table: version 2 refused", "mtrr: your CPUs had inconsistent MTRRdefType settings",
		"WARNING: CPU: 0 PID: 1 at drivers/xen/events/events_base.c:1", "clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as unstable",
	})
	if len(got) != 4 {
		t.Errorf("%q, want all but the first two", got)
	}
}
