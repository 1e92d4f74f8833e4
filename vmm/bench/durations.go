// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math"
	"math/bits"
	"time"
)

// durations counts times in nanoseconds, one bucket each up to 63 and then 32
// to each power of two, so that a quantile is at most 3 % off. Adding allocates
// nothing; one goroutine at a time uses it.
type durations struct {
	buckets [64 + (maxExp-6)*32]uint64
	n       uint64
	sum     uint64
	max     uint64
}

// maxExp bounds what is told apart: 2^40 ns is 18 minutes.
const maxExp = 40

func durationBucket(ns uint64) int {
	if ns < 64 {
		return int(ns)
	}
	ns = min(ns, 1<<maxExp-1)
	exp := bits.Len64(ns) - 1
	return 64 + (exp-6)*32 + int(ns>>(exp-5)&31)
}

// durationRange is the least value that falls into bucket i, and the least that
// falls into the next one.
func durationRange(i int) (low, high uint64) {
	if i < 64 {
		return uint64(i), uint64(i) + 1
	}
	exp, sub := (i-64)/32+6, uint64((i-64)%32)
	return (32 + sub) << (exp - 5), (33 + sub) << (exp - 5)
}

func (d *durations) add(t time.Duration) {
	ns := uint64(max(t, 0))
	d.buckets[durationBucket(ns)]++
	d.n++
	d.sum += ns
	d.max = max(d.max, ns)
}

func (d *durations) merge(o *durations) {
	for i, c := range o.buckets {
		d.buckets[i] += c
	}
	d.n += o.n
	d.sum += o.sum
	d.max = max(d.max, o.max)
}

// mean is NaN if nothing was counted, as are the other statistics.
func (d *durations) mean() float64 { return float64(d.sum) / float64(d.n) }

// quantile is the value that the share q of the times does not exceed: the upper
// end of its bucket.
func (d *durations) quantile(q float64) float64 {
	if d.n == 0 {
		return math.NaN()
	}
	rank := max(uint64(math.Ceil(q*float64(d.n)-1e-9)), 1)
	var seen uint64
	for i, c := range d.buckets {
		if seen += c; seen >= rank {
			_, high := durationRange(i)
			return min(float64(high-1), float64(d.max))
		}
	}
	return float64(d.max)
}

func (d *durations) largest() float64 {
	if d.n == 0 {
		return math.NaN()
	}
	return float64(d.max)
}

// above counts the times in buckets that lie above limit entirely.
func (d *durations) above(limit float64) (n uint64) {
	for i := len(d.buckets) - 1; i >= 0; i-- {
		if low, _ := durationRange(i); float64(low) <= limit {
			return n
		}
		n += d.buckets[i]
	}
	return n
}

// doubling sums up into buckets that double in width, the first one of 1 us,
// leaving out empty ones at the end.
func (d *durations) doubling() []Bucket {
	var out []Bucket
	next := 0
	for low, high := uint64(0), uint64(1000); next < len(d.buckets); low, high = high, high*2 {
		b := Bucket{Low: float64(low), High: float64(high)}
		for next < len(d.buckets) {
			if l, _ := durationRange(next); l >= high {
				break
			}
			b.Count += d.buckets[next]
			next++
		}
		out = append(out, b)
	}
	for len(out) > 1 && out[len(out)-1].Count == 0 {
		out = out[:len(out)-1]
	}
	return out
}

// tail is the share of times above each bucket's upper end, for a plot.
func (d *durations) tail() []Point {
	var out []Point
	var seen uint64
	for i, c := range d.buckets {
		if seen += c; c == 0 || seen == d.n {
			continue
		}
		_, high := durationRange(i)
		y := float64(d.n-seen) / float64(d.n)
		out = append(out, Point{X: float64(high), Y: y, YMin: y, YMax: y})
	}
	return out
}
