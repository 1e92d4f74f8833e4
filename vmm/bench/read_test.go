// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"testing"
	"time"

	"xenvmm/gpc"
)

func TestReadMeasuresEveryGuard(t *testing.T) {
	p, end := counting(t)
	r, err := Read(context.Background(), ReadOptions{Threads: []int{1, 2, 3}, Rounds: 1, Slices: 1, Slice: 20 * time.Microsecond}, p)
	if err != nil {
		t.Fatal(err)
	}
	end()
	wellFormed(t, r)
	for _, n := range []string{"1", "2", "3"} {
		for _, g := range append(gpc.BenchGuards(), rawRWMutex) {
			if v := cell(t, r, ReadTable, []string{g, n}, "ns"); v.Median <= 0 {
				t.Errorf("%s, %s threads: %+v", g, n, v)
			}
		}
		cell(t, r, ReadTable, []string{"srcu", n}, "x_net")
		if net := cell(t, r, ReadTable, []string{limit, n}, "net"); net.Median != 0 {
			t.Errorf("no guard costs %v more than no guard", net)
		}
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	endsEarly(t, func(ctx context.Context, p Progress) (*Report, error) {
		return Read(ctx, ReadOptions{Threads: []int{1}, Slice: 10 * time.Microsecond}, p)
	})
}
