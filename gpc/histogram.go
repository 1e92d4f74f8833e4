// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// A histogram counts durations in fixed buckets: one per nanosecond up to 16,
// then eight to each power of two, so that a bucket is at most an eighth of its
// value wide. Adding is two atomic operations and allocates nothing.
type histogram struct {
	buckets [16 + (64-4)*8]atomic.Uint64
	max     atomic.Uint64
}

func bucketOf(ns uint64) int {
	if ns < 16 {
		return int(ns)
	}
	exp := bits.Len64(ns) - 1
	return 16 + (exp-4)*8 + int(ns>>(exp-3)&7)
}

// bucketTop is the largest value that falls into bucket i.
func bucketTop(i int) uint64 {
	if i < 16 {
		return uint64(i)
	}
	exp := (i-16)/8 + 4
	sub := uint64((i - 16) % 8)
	return (8+sub+1)<<(exp-3) - 1
}

func (h *histogram) add(d time.Duration) {
	ns := uint64(max(d, 0))
	h.buckets[bucketOf(ns)].Add(1)
	for {
		m := h.max.Load()
		if ns <= m || h.max.CompareAndSwap(m, ns) {
			return
		}
	}
}

// A Distribution summarises durations in nanoseconds. Percentiles are the upper
// ends of buckets at most 12.5 % wide; Max is exact.
type Distribution struct {
	Count               uint64
	P50, P99, P999, Max uint64
}

func (h *histogram) distribution() Distribution {
	var counts [len(h.buckets)]uint64
	d := Distribution{Max: h.max.Load()}
	for i := range counts {
		counts[i] = h.buckets[i].Load()
		d.Count += counts[i]
	}
	if d.Count == 0 {
		return d
	}
	quantile := func(num, den uint64) uint64 {
		// The smallest value that at least num/den of the samples don't exceed.
		rank := d.Count - d.Count/den*(den-num) - d.Count%den*(den-num)/den
		var seen uint64
		for i, c := range counts {
			if seen += c; seen >= rank {
				return min(bucketTop(i), d.Max)
			}
		}
		return d.Max
	}
	d.P50, d.P99, d.P999 = quantile(50, 100), quantile(99, 100), quantile(999, 1000)
	return d
}
