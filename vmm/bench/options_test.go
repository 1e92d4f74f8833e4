// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOptionsAreRefusedWithTheRemedy(t *testing.T) {
	ctx := context.Background()
	delivery := func(o DeliveryOptions) error { _, err := Delivery(ctx, o, nil); return err }
	read := func(o ReadOptions) error { _, err := Read(ctx, o, nil); return err }
	invalidate := func(o InvalidateOptions) error { _, err := Invalidate(ctx, o, nil); return err }
	for _, c := range []struct {
		err  error
		want []string
	}{
		{delivery(DeliveryOptions{Guards: []string{"rcu"}}), []string{`guard "rcu"`, "srcu, srcu-notry"}},
		{delivery(DeliveryOptions{Forms: []string{"fast"}}), []string{`form "fast"`, "inline, early"}},
		{delivery(DeliveryOptions{Layouts: []string{"dense"}}), []string{`layout "dense"`, "spread, shared"}},
		{delivery(DeliveryOptions{Threads: []int{1, 0}}), []string{"0 threads", "1 to 64"}},
		{delivery(DeliveryOptions{Threads: []int{65}}), []string{"65 threads", "1 to 64"}},
		{delivery(DeliveryOptions{Rounds: -1}), []string{"rounds -1", "1 to 1000"}},
		{delivery(DeliveryOptions{Slices: 2000}), []string{"slices 2000", "1 to 1000"}},
		{delivery(DeliveryOptions{Slice: time.Nanosecond}), []string{"slice 1ns", "10µs to 1s"}},
		{delivery(DeliveryOptions{Rounds: -1, Guards: []string{"rcu"}}), []string{"rounds -1", `guard "rcu"`}},
		{read(ReadOptions{Guards: []string{"rcu"}}), []string{`guard "rcu"`}},
		{read(ReadOptions{Threads: []int{-3}}), []string{"-3 threads"}},
		{read(ReadOptions{Rounds: 1001}), []string{"rounds 1001"}},
		{invalidate(InvalidateOptions{Profiles: []string{"storm"}}), []string{`profile "storm"`, "flood, drain"}},
		{invalidate(InvalidateOptions{FloodReaders: "maybe"}), []string{`flood readers "maybe"`, `"on"`}},
		{invalidate(InvalidateOptions{Readers: 100}), []string{"readers 100", "1 to 64"}},
		{invalidate(InvalidateOptions{Duration: -time.Second}), []string{"duration -1s"}},
		{invalidate(InvalidateOptions{Pace: time.Hour}), []string{"pace 1h"}},
		{invalidate(InvalidateOptions{Repetitions: -1}), []string{"repetitions -1"}},
		{invalidate(InvalidateOptions{CPUs: -1}), []string{"cpus -1"}},
	} {
		for _, w := range c.want {
			if c.err == nil || !strings.Contains(c.err.Error(), w) {
				t.Errorf("%v does not say %q", c.err, w)
			}
		}
	}
}

func TestChosenNamesComeInTheOrderOfDisplayOnceEach(t *testing.T) {
	got, err := withBases([]string{"spinlock", "srcu", "spinlock"})
	if want := []string{"srcu", base, "spinlock", limit}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
	counts, err := threadCounts([]int{4, 1, 4})
	if want := []int{1, 4}; err != nil || !slices.Equal(counts, want) {
		t.Errorf("%v %v, want %v", counts, err, want)
	}
}
