// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var nan = math.NaN()

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []float64
		want *Number
	}{
		{"nothing", nil, nil},
		{"nothing measured", []float64{nan, math.Inf(1), nan}, nil},
		{"one", []float64{3}, &Number{3, 3, 3, 1}},
		{"odd", []float64{9, 1, 5}, &Number{5, 1, 9, 3}},
		{"even is the middle of the two in the middle", []float64{4, 1, 2, 10}, &Number{3, 1, 10, 4}},
		{"missing rounds do not count", []float64{nan, 7, nan, 5, 6}, &Number{6, 5, 7, 3}},
	} {
		got := median(c.in)
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	in := []float64{3, 1, 2}
	if median(in); !slices.Equal(in, []float64{3, 1, 2}) {
		t.Error("median reorders the rounds")
	}
}

func TestRatiosAreFormedRoundByRound(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []float64
		want *Number
	}{
		// The medians would give 1; no round says that.
		{"the rounds that belong together", []float64{10, 40, 20}, []float64{20, 10, 40}, &Number{0.5, 0.5, 4, 3}},
		{"a round that one lacks is left out", []float64{10, nan, 30}, []float64{5, 1, nan}, &Number{2, 2, 2, 1}},
		{"the shorter one decides", []float64{10, 20}, []float64{10}, &Number{1, 1, 1, 1}},
		{"nothing is no multiple of nothing", []float64{1, 2}, []float64{0, 1}, &Number{2, 2, 2, 1}},
		{"none", nil, []float64{1}, nil},
	} {
		got := median(ratios(c.a, c.b))
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestNetRatiosDoNotDivideByNoise(t *testing.T) {
	got := netRatios([]float64{10, 10, nan}, []float64{2, -0.5, 2})
	if got[0] != 5 || got[1] != 10/leastNet || !math.IsNaN(got[2]) {
		t.Errorf("%v", got)
	}
}

func TestEveryDurationHasItsBucket(t *testing.T) {
	var d durations
	var end uint64
	for i := range d.buckets {
		low, high := durationRange(i)
		if low != end || high <= low {
			t.Fatalf("bucket %d is [%d, %d) and the one before ends at %d", i, low, high, end)
		}
		if durationBucket(low) != i || durationBucket(high-1) != i {
			t.Fatalf("bucket %d is [%d, %d), but these are in %d and %d", i, low, high, durationBucket(low), durationBucket(high-1))
		}
		if low >= 64 && float64(high-low) > float64(low)/32 {
			t.Fatalf("bucket [%d, %d) is too wide", low, high)
		}
		end = high
	}
	if end != 1<<maxExp || durationBucket(math.MaxUint64) != len(d.buckets)-1 {
		t.Errorf("the buckets end at %d, the largest value is in %d", end, durationBucket(math.MaxUint64))
	}
}

// The statistics of durations against those of the sorted values.
func TestDurationsAgreeWithSortedValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Uint64Range(0, 1<<rapid.IntRange(1, 36).Draw(t, "bits")), 1, 300).Draw(t, "values")
		var whole, a, b durations
		var sum uint64
		for i, v := range values {
			sum += v
			whole.add(time.Duration(v))
			if i%3 == 0 {
				a.add(time.Duration(v))
			} else {
				b.add(time.Duration(v))
			}
		}
		if a.merge(&b); a != whole {
			t.Fatal("merging differs from adding")
		}
		slices.Sort(values)
		n := len(values)
		if whole.n != uint64(n) || whole.largest() != float64(values[n-1]) || whole.mean() != float64(sum)/float64(n) {
			t.Fatalf("n %d, largest %v, mean %v", whole.n, whole.largest(), whole.mean())
		}
		for _, q := range []float64{0.001, 0.5, 0.99, 0.999, 1} {
			exact := float64(values[max(int(math.Ceil(q*float64(n)-1e-9)), 1)-1])
			if got := whole.quantile(q); got < exact || got > exact*(1+1./32)+1 {
				t.Fatalf("quantile %v of %v is %v, want %v", q, values, got, exact)
			}
		}
		limit := rapid.Uint64Range(0, values[n-1]+1).Draw(t, "limit")
		low, _ := durationRange(durationBucket(limit))
		var above, atLeast uint64
		for _, v := range values {
			if v > limit {
				above++
			}
			if v >= low {
				atLeast++
			}
		}
		if got := whole.above(float64(limit)); got > above || low == limit && got != above && limit >= 64 && got > atLeast {
			t.Fatalf("%d above %d, counted %d", above, limit, got)
		}
		var buckets uint64
		for i, bk := range whole.doubling() {
			var in uint64
			for _, v := range values {
				if float64(v) >= bk.Low && float64(v) < bk.High {
					in++
				}
			}
			// Buckets of durations may straddle an edge of the doubling ones.
			if buckets += bk.Count; i == 0 && bk.Count < in {
				t.Fatalf("bucket %d [%v, %v): %d, want at least %d", i, bk.Low, bk.High, bk.Count, in)
			}
		}
		if buckets != uint64(n) {
			t.Fatalf("the buckets hold %d of %d", buckets, n)
		}
		last := 1.0
		for _, p := range whole.tail() {
			if p.Y >= last || p.Y <= 0 {
				t.Fatalf("the tail does not fall: %v", whole.tail())
			}
			last = p.Y
		}
	})
}

func TestDoublingBucketsStartAtOneMicrosecond(t *testing.T) {
	var d durations
	for _, v := range []time.Duration{0, 900, 1500, 3 * time.Microsecond, 9 * time.Microsecond} {
		d.add(v)
	}
	want := []Bucket{{0, 1000, 2}, {1000, 2000, 1}, {2000, 4000, 1}, {4000, 8000, 0}, {8000, 16000, 1}}
	if got := d.doubling(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := new(durations).doubling(); len(got) != 1 || got[0].Count != 0 {
		t.Errorf("of nothing: %v", got)
	}
	if d := new(durations); !math.IsNaN(d.quantile(0.5)) || !math.IsNaN(d.mean()) || !math.IsNaN(d.largest()) || d.above(0) != 0 {
		t.Error("nothing has statistics")
	}
}
