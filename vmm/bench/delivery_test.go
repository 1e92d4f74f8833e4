// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"xenvmm/gpc"
)

// A miniature run of everything. Its numbers mean nothing, but deliveries are
// counted as in a real one, and a row whose counts don't add up is an error.
func TestDeliveryMeasuresEveryGuardLayoutAndForm(t *testing.T) {
	p, end := counting(t)
	r, err := Delivery(context.Background(), DeliveryOptions{Threads: []int{1, 2, 3}, Rounds: 1, Slices: 1, Slice: 20 * time.Microsecond}, p)
	if err != nil {
		t.Fatal(err)
	}
	end()
	wellFormed(t, r)
	tables := []string{"inline-spread", "inline-shared", "early-spread", "early-shared", "batch-shared", "eventfd-spread", "eventfd-shared", "waiter-spread"}
	for _, table := range tables {
		for _, n := range []string{"1", "2", "3"} {
			for _, g := range gpc.BenchGuards() {
				if v := cell(t, r, table, []string{g, n}, "rate"); v.Median <= 0 {
					t.Errorf("%s, %s, %s threads: %+v", table, g, n, v)
				}
				if v := cell(t, r, table, []string{g, n}, "x_rwlock"); g == base && v.Median != 1 {
					t.Errorf("%s, %s threads: the base against itself is %v", table, n, v)
				}
				cell(t, r, table, []string{g, n}, "x_none")
			}
		}
	}
	if len(r.Tables) != len(tables) || len(r.Plots) != len(tables) {
		t.Errorf("%d tables and %d plots, want %d", len(r.Tables), len(r.Plots), len(tables))
	}
	if v := cell(t, r, "inline-spread", []string{"srcu", "2"}, "published"); v.Median != 7.37e6 {
		t.Errorf("published: %v", v)
	}
}

func TestDeliveryMeasuresWhatIsAskedForAndTheBases(t *testing.T) {
	r, err := Delivery(context.Background(), DeliveryOptions{
		Guards: []string{"mutex"}, Threads: []int{1}, Layouts: []string{LayoutShared}, Forms: []string{FormEarly},
		Rounds: 2, Slices: 1, Slice: 10 * time.Microsecond,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Tables) != 1 || len(r.Tables[0].Rows) != 3 {
		t.Fatalf("%+v", r.Tables)
	}
	if n := cell(t, r, "early-shared", []string{"mutex", "1"}, "rate"); n.N != 2 {
		t.Errorf("%d rounds", n.N)
	}
}

func TestDeliveryEndsWithItsContext(t *testing.T) {
	endsEarly(t, func(ctx context.Context, p Progress) (*Report, error) {
		return Delivery(ctx, DeliveryOptions{Guards: []string{"srcu"}, Threads: []int{1}, Forms: []string{FormInline, FormWaiter}, Slice: 10 * time.Microsecond}, p)
	})
}

func TestDeliveriesThatDoNotAddUpAreAnError(t *testing.T) {
	spread := deliveryRow{FormInline, LayoutSpread, 2, "srcu"}
	shared, early := spread, spread
	shared.layout, early.form = LayoutShared, FormEarly
	for _, c := range []struct {
		name    string
		row     deliveryRow
		tallies []tally
		total   uint64
		ok      bool
	}{
		{"all raised", spread, []tally{{events: 5, raised: 5}, {events: 4, raised: 4}}, 9, true},
		{"one found the vCPU raised, with the word its own", spread, []tally{{events: 9, raised: 8, pending: 1}}, 9, false},
		{"the same on the shared word", shared, []tally{{events: 9, raised: 8, pending: 1}}, 9, true},
		{"one more than was done", shared, []tally{{events: 9, raised: 9}}, 8, false},
		{"one without a result", shared, []tally{{events: 9, raised: 8}}, 9, false},
		{"one stale", shared, []tally{{events: 9, raised: 8, other: 1}}, 9, false},
		{"all early", early, []tally{{events: 3, early: 3}}, 3, true},
		{"early, but raised", early, []tally{{events: 3, early: 2, raised: 1}}, 3, false},
	} {
		if err := settled(c.row, c.tallies, c.total); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The words of different threads are different, and in the spread layout their
// cache lines are for as long as there are enough.
func TestPortsAreSpreadOverLines(t *testing.T) {
	lines, words := map[uint32]bool{}, map[uint32]bool{}
	for id := range MaxThreads {
		port := portOf(LayoutSpread, id)
		if id < 8 && lines[port/512] || words[port/64] {
			t.Errorf("thread %d has port %d", id, port)
		}
		lines[port/512], words[port/64] = true, true
	}
	for threads := 1; threads <= MaxThreads; threads++ {
		if w := batchWidth(threads); w < 1 || threads <= 32 && w*threads > 32 {
			t.Errorf("%d threads have %d bits each of 32", threads, w)
		}
	}
}

func TestPublishedRatesAreThoseOfTheKernelSeries(t *testing.T) {
	x := func(guard string, n int) string {
		c := publishedCells(guard, LayoutSpread, n)[1].Number
		if c == nil {
			return "none"
		}
		return fmt.Sprintf("%.1f", c.Median)
	}
	got := strings.Join([]string{x("srcu", 16), x("spinlock", 8), x("rwlock-percache", 4), x("mutex", 2), x("srcu", 3)}, " ")
	if got != "4.7 0.4 1.0 none none" {
		t.Error(got)
	}
	if !slices.Equal(publishedCells("srcu", LayoutShared, 2), make([]Cell, 2)) {
		t.Error("figures for the shared layout, which has none")
	}
}
