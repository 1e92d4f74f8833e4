// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"errors"
	"testing"
	"time"

	"xenvmm/vmm"
)

func TestKVMOptionsOutOfRangeAreRefused(t *testing.T) {
	for _, o := range []KVMOptions{
		{Guards: []string{"none"}}, {Guards: []string{"prayer"}}, {VCPUs: []int{0}}, {VCPUs: []int{1, MaxKVMVCPUs + 1}},
		{Layouts: []string{"diagonal"}}, {Rounds: -1}, {Duration: time.Microsecond}, {Duration: 2 * time.Hour},
	} {
		var host *vmm.HostError
		if r, err := KVMDelivery(t.Context(), o, nil); r != nil || err == nil || errors.As(err, &host) {
			t.Errorf("%+v: %v, %v", o, r, err)
		}
	}
}

func TestAHostWithoutKVMIsNamed(t *testing.T) {
	var host *vmm.HostError
	r, err := KVMDelivery(t.Context(), KVMOptions{Machine: vmm.Config{Device: "/dev/null"}}, nil)
	if r != nil || !errors.As(err, &host) || host.Remedy == "" {
		t.Errorf("%v, %v", r, err)
	}
}

func TestRatesStandBesideThePublishedOnes(t *testing.T) {
	r := &Report{}
	kvmResults(r, []*kvmRow{
		{guard: "srcu", layout: LayoutSpread, vcpus: 2, writes: []float64{9, 9, 9}, deliveries: []float64{5, 7, 6}, fresh: []float64{1, 1, 1}, upcalls: []float64{1, 1, 1}, p50: []float64{4, 4, 4}, p99: []float64{8, 8, 8}},
		{guard: "srcu", layout: LayoutShared, vcpus: 2, writes: []float64{1}, deliveries: []float64{1}, fresh: []float64{1}, upcalls: []float64{1}, p50: []float64{1}, p99: []float64{1}},
		{guard: "rwlock", layout: LayoutSpread, vcpus: 2}, // not reached
	})
	tab := r.Tables[0]
	if len(tab.Rows) != 2 {
		t.Fatalf("%d rows, want 2", len(tab.Rows))
	}
	for _, row := range tab.Rows {
		if len(row) != len(tab.Columns) {
			t.Errorf("%d cells for %d columns", len(row), len(tab.Columns))
		}
	}
	for c, col := range tab.Columns {
		spread, shared := tab.Rows[0][c].Number, tab.Rows[1][c].Number
		switch {
		case col.ID == "deliveries" && *spread != Number{6, 5, 7, 3}:
			t.Errorf("deliveries %+v", *spread)
		case col.Published && (spread == nil || spread.Median != 7.37e6 || shared != nil):
			t.Errorf("published for 2 vCPUs: %v, in the shared layout %v", spread, shared)
		}
	}
	if len(r.Plots) != 2 || len(r.Plots[0].Series) != 1 || r.Plots[0].Series[0].Points[0] != (Point{2, 6, 5, 7}) {
		t.Errorf("plots %+v", r.Plots)
	}
}
