// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"testing"
	"time"

	"xenvmm/gpc"
	"xenvmm/vmm/bench"
	"xenvmm/vmm/kvm/kvmtest"
)

// TestKVMBenchDeliversUnderEveryGuardAndLosesNothing is vmm bench delivery
// --kvm in miniature.
func TestKVMBenchDeliversUnderEveryGuardAndLosesNothing(t *testing.T) {
	kvmtest.Open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*limit)
	defer cancel()
	for _, o := range []bench.KVMOptions{
		{VCPUs: []int{1, 2}, Guards: gpc.Guards()},
		{VCPUs: []int{4}, Guards: []string{"srcu", "rwlock"}, Layouts: bench.Layouts()},
		{VCPUs: []int{8}, Guards: []string{"srcu"}},
	} {
		o.Rounds, o.Duration = 1, 30*time.Millisecond
		r, err := bench.KVMDelivery(ctx, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n, want := len(r.Tables[0].Rows), len(o.VCPUs)*max(1, len(o.Layouts))*len(o.Guards); n != want {
			t.Errorf("%d rows, want %d", n, want)
		}
		checkRates(t, r.Tables[0])
	}
}

// checkRates demands that every row was measured and nothing was lost.
func checkRates(t *testing.T, tab bench.Table) {
	t.Helper()
	for _, row := range tab.Rows {
		for i, c := range tab.Columns {
			n := row[i].Number
			switch {
			case c.Kind == bench.Label || c.Published:
			case n == nil:
				t.Errorf("%s, %s vCPUs, %s: no %s", row[0].Text, row[1].Text, row[2].Text, c.Name)
			case c.ID == "lost" && n.Median != 0, c.ID != "lost" && n.Median <= 0:
				t.Errorf("%s, %s vCPUs, %s: %s is %v", row[0].Text, row[1].Text, row[2].Text, c.Name, n.Median)
			}
		}
	}
}

// TestKVMBenchEndsEarlyWithWhatItHas cancels in the second guest.
func TestKVMBenchEndsEarlyWithWhatItHas(t *testing.T) {
	kvmtest.Open(t)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	r, err := bench.KVMDelivery(ctx, bench.KVMOptions{Guards: gpc.Guards()[:1], VCPUs: []int{1, 2}, Rounds: 1, Duration: 20 * time.Millisecond}, func(s bench.Step) {
		if s.Done == 1 {
			cancel(why)
		}
	})
	if !errors.Is(err, why) || r == nil || !r.Partial || len(r.Tables[0].Rows) != 1 {
		t.Errorf("%v, %+v", err, r)
	}
}
