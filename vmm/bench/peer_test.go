// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"math"
	"strings"
	"testing"

	"xenvmm/vmm"
)

func TestPeerOptionsOutOfRangeAreRefused(t *testing.T) {
	for _, o := range []PeerOptions{{Rounds: -1}, {Events: -1}, {Changes: 100_001}, {Guard: "none"}, {Guard: "hope"}} {
		var host *vmm.HostError
		if r, err := Peer(t.Context(), o, nil); r != nil || err == nil || errors.As(err, &host) {
			t.Errorf("%+v: %v, %v", o, r, err)
		}
	}
}

func TestPeerTellsWhereItCanBeRun(t *testing.T) {
	var host *vmm.HostError
	r, err := Peer(t.Context(), PeerOptions{Device: "/dev/null"}, nil)
	if r != nil || !errors.As(err, &host) || !strings.Contains(err.Error(), "vmm lab exec --host debian-6.12 -- vmm bench peer") {
		t.Errorf("%v, %v", r, err)
	}
}

func TestQuantilesAreOfTheNearestRank(t *testing.T) {
	for _, c := range []struct {
		sorted []float64
		q      float64
		want   float64
	}{{[]float64{7}, 0.99, 7}, {[]float64{1, 2, 3, 4}, 0.5, 3}, {[]float64{1, 2, 3}, 0.5, 2}, {[]float64{1, 2, 3, 4}, 1, 4}} {
		if got := quantile(c.sorted, c.q); got != c.want {
			t.Errorf("%v of %v is %v, want %v", c.q, c.sorted, got, c.want)
		}
	}
	if !math.IsNaN(quantile(nil, 0.5)) {
		t.Error("nothing has a median")
	}
}

// Ratios are formed round by round, of medians.
func TestPeerTablesSetTheTwoSideBySide(t *testing.T) {
	run := &peerRun{ours: &ourSide{}, kernel: &kernelSide{}, events: newPeerEvents(), changes: newPeerChanges()}
	run.sent = map[peerSide]uint64{run.ours: 30, run.kernel: 20}
	raise := run.events[0]
	for round := range 3 {
		raise.taken[whoOurs].round([]float64{400, 200, 100 * float64(round+1)})
		raise.taken[whoKernel].round([]float64{100, 100, 100})
	}
	remap := run.changes[0]
	remap.idle[whoNone].round([]float64{10})
	remap.idle[whoOurs].round([]float64{30})
	remap.idle[whoKernel].round([]float64{60})
	r := &Report{Env: Env{CPUModel: "QEMU TCG CPU version 2.5+"}}
	peerResults(r, run)
	if len(r.Tables) != 3 {
		t.Fatalf("%d tables", len(r.Tables))
	}
	delivery, changes, account := r.Tables[0], r.Tables[1], r.Tables[2]
	taken := delivery.Rows[1]
	if taken[0].Text != "raise, taken" || taken[1].Number.Median != 200 || taken[5].Number.Median != 2 || taken[5].Number.Max != 3 {
		t.Errorf("%+v, ratio %+v", taken, taken[5].Number)
	}
	if never := delivery.Rows[2]; never[1].Number != nil {
		t.Errorf("%s was not measured and is %+v", never[0].Text, never[1].Number)
	}
	if c := changes.Rows[0]; c[1].Number.Median != 10 || c[2].Number.Median != 30 || c[3].Number.Median != 60 || c[4].Number.Median != 0.5 {
		t.Errorf("%+v", c)
	}
	if account.Rows[0][1].Number.Median != 30 || account.Rows[1][1].Number.Median != 20 {
		t.Errorf("%+v", account.Rows)
	}
	if notes := strings.Join(r.Notes, " "); !strings.Contains(notes, "emulated") {
		t.Errorf("figures of an emulator without a warning: %s", notes)
	}
	for _, tab := range r.Tables {
		for _, row := range tab.Rows {
			if len(row) != len(tab.Columns) {
				t.Errorf("table %s: %d cells in %d columns: %+v", tab.ID, len(row), len(tab.Columns), row)
			}
		}
	}
}
