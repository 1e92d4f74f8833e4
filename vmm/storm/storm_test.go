// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"fmt"
	"strings"
	"testing"

	"xenvmm/vmm"
)

func TestReportsSayWhatWentWrong(t *testing.T) {
	good := func() *Report {
		return &Report{Sent: 10, Delivered: 4, Coalesced: 6, Taken: 4, Guest: vmm.Status{
			Ending: vmm.Poweroff, Verdict: &vmm.Verdict{Name: "storm", Result: vmm.Pass},
		}}
	}
	for _, c := range []struct {
		name   string
		change func(*Report)
		want   string
	}{
		{"nothing", func(*Report) {}, ""},
		{"lost", func(r *Report) { r.Lost = 1 }, "1 events were lost"},
		{"made up", func(r *Report) { r.Delivered, r.Lost = 5, 0 }, "10 events sent, but 5 delivered, 6 coalesced"},
		{"not accounted for", func(r *Report) { r.Sent = 11 }, "11 events sent"},
		{"kept for later and merged", func(r *Report) { r.Sent, r.Latched = 11, 2 }, ""},
		{"failed", func(r *Report) { r.Guest.Verdict.Result = vmm.Fail }, "guest test storm: FAIL"},
		{"no verdict", func(r *Report) { r.Guest.Verdict = nil }, "without a verdict"},
		{"crash", func(r *Report) { r.Guest.Ending = vmm.Crash }, "guest crash"},
	} {
		r := good()
		c.change(r)
		if p := r.Problem(); (p == "") != (c.want == "") || !strings.Contains(p, c.want) || r.OK() != (c.want == "") {
			t.Errorf("%s: problem %q, want %q", c.name, p, c.want)
		}
	}
}

func TestTheGuestsCountsAreReadFromItsConsole(t *testing.T) {
	var out strings.Builder
	y := newTally(&out)
	text := "hello\r\nSTORM port=3 taken=17\r\nSTORM port=4 taken=x\nSTORM port=5 ta"
	fmt.Fprint(y, text)
	fmt.Fprint(y, "ken=2\n"+strings.Repeat("long", 1000)+"STORM port=6 taken=9\nSTORM total=19 upcalls=7 moves=3 cpus=2\n")
	taken, upcalls, moves := y.counts()
	if len(taken) != 2 || taken[3] != 17 || taken[5] != 2 || upcalls != 7 || moves != 3 {
		t.Errorf("read %v, %d upcalls, %d moves", taken, upcalls, moves)
	}
	if !strings.HasPrefix(out.String(), text) {
		t.Errorf("passed on %q", out.String())
	}
}

func TestBadStormsAreRefused(t *testing.T) {
	for _, c := range []Config{{Sources: -1}, {Sources: 512}, {Senders: 65}, {Senders: -1}, {Upcall: "smoke"}} {
		if err := c.withDefaults().check(); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
	if err := (Config{}).withDefaults().check(); err != nil {
		t.Errorf("the default storm is refused: %v", err)
	}
}
