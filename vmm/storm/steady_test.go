// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"strings"
	"testing"

	"xenvmm/vmm"
)

func TestSteadyEventsReachEachVCPUInAWordOfItsOwn(t *testing.T) {
	for cpus := 1; cpus <= 16; cpus++ {
		for _, shared := range []bool{false, true} {
			seen := map[int]bool{}
			words := map[int]bool{}
			last := 0
			for v, i := range steadyEvents(cpus, shared) {
				if i < 1 || i >= vmm.MaxHostEvents || seen[i] {
					t.Errorf("%d vCPUs, shared %v: event %d for vCPU %d", cpus, shared, i, v)
				}
				if i%cpus != v {
					t.Errorf("%d vCPUs, shared %v: event %d goes to vCPU %d, want %d", cpus, shared, i, i%cpus, v)
				}
				seen[i], words[i/wordPorts] = true, true
				if v > 0 && !shared && cpus <= 8 && i-last < wordPorts-cpus {
					t.Errorf("%d vCPUs: events %d and %d are close together", cpus, last, i)
				}
				last = i
			}
			if shared && len(words) != 1 {
				t.Errorf("%d vCPUs, shared: %d words", cpus, len(words))
			}
		}
	}
}

func TestSteadyReportsSayWhatWentWrong(t *testing.T) {
	good := func() *SteadyReport {
		return &SteadyReport{Written: 10, Taken: 6, Delivered: 4, Coalesced: 2, Guest: vmm.Status{
			Ending: vmm.Poweroff, Verdict: &vmm.Verdict{Name: "storm", Result: vmm.Pass},
		}}
	}
	for _, c := range []struct {
		name   string
		change func(*SteadyReport)
		want   string
	}{
		{"nothing", func(*SteadyReport) {}, ""},
		{"lost", func(r *SteadyReport) { r.Lost = 1 }, "1 events were lost of 4"},
		{"not accounted for", func(r *SteadyReport) { r.Taken = 7 }, "7 deliveries were made, but 4"},
		{"failed", func(r *SteadyReport) { r.Guest.Verdict.Result = vmm.Fail }, "without having passed"},
		{"no verdict", func(r *SteadyReport) { r.Guest.Verdict = nil }, "without having passed"},
		{"crash", func(r *SteadyReport) { r.Guest.Ending = vmm.Crash }, "guest crash"},
	} {
		r := good()
		c.change(r)
		if p := r.Problem(); (p == "") != (c.want == "") || !strings.Contains(p, c.want) {
			t.Errorf("%s: problem %q, want %q", c.name, p, c.want)
		}
	}
}
