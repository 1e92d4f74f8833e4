// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBucketsAreContiguousAndNarrow(t *testing.T) {
	var h histogram
	for i := range h.buckets {
		top := bucketTop(i)
		if bucketOf(top) != i {
			t.Fatalf("the top %d of bucket %d is in bucket %d", top, i, bucketOf(top))
		}
		if i+1 < len(h.buckets) {
			if bucketOf(top+1) != i+1 {
				t.Fatalf("%d follows bucket %d but is in %d", top+1, i, bucketOf(top+1))
			}
		} else if top != math.MaxUint64 {
			t.Fatalf("the last bucket ends at %d", top)
		}
		if i > 0 {
			if width := top - bucketTop(i-1); width > 1 && width*8 > top {
				t.Fatalf("bucket %d is %d wide and ends at %d", i, width, top)
			}
		}
	}
}

func TestPercentilesAreThoseOfTheSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Int64Range(0, 1e10), 1, 3000).Draw(t, "samples")
		var h histogram
		for _, v := range samples {
			h.add(time.Duration(v))
		}
		slices.Sort(samples)
		d := h.distribution()
		if d.Count != uint64(len(samples)) || d.Max != uint64(samples[len(samples)-1]) {
			t.Fatalf("%+v", d)
		}
		for _, q := range []struct {
			num, den int
			got      uint64
		}{{50, 100, d.P50}, {99, 100, d.P99}, {999, 1000, d.P999}} {
			rank := (len(samples)*q.num + q.den - 1) / q.den
			exact := uint64(samples[rank-1])
			if q.got < exact || q.got > exact+exact/8+1 {
				t.Fatalf("p%d/%d is %d, exactly %d", q.num, q.den, q.got, exact)
			}
		}
	})
}

func TestAnEmptyHistogramIsAllZero(t *testing.T) {
	var h histogram
	if d := h.distribution(); d != (Distribution{}) {
		t.Fatalf("%+v", d)
	}
	h.add(-time.Second)
	if d := h.distribution(); d != (Distribution{Count: 1}) {
		t.Fatalf("a clock that went back: %+v", d)
	}
}

func TestAddsFromManyGoroutinesAllCount(t *testing.T) {
	var h histogram
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 1000 {
				h.add(time.Duration(n*4 + i))
			}
		})
	}
	wg.Wait()
	if d := h.distribution(); d.Count != 4000 || d.Max != 3999 {
		t.Fatalf("%+v", d)
	}
}
