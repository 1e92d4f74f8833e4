// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math"
	"slices"
)

// median summarises the values of several rounds, of which those that are not
// numbers were not measured. It is nil if nothing was.
func median(v []float64) *Number {
	s := slices.DeleteFunc(slices.Clone(v), func(f float64) bool { return math.IsNaN(f) || math.IsInf(f, 0) })
	n := len(s)
	if n == 0 {
		return nil
	}
	slices.Sort(s)
	return &Number{Median: (s[(n-1)/2] + s[n/2]) / 2, Min: s[0], Max: s[n-1], N: n}
}

// single is the number of a single measurement.
func single(v float64) *Number { return &Number{v, v, v, 1} }

// ratios divides round by round; NaN where one of the two was not measured.
func ratios(a, b []float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = a[i] / b[i]
		if b[i] == 0 {
			out[i] = math.NaN()
		}
	}
	return out
}

// differences subtracts round by round.
func differences(a, b []float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = a[i] - b[i]
	}
	return out
}

// unmeasured returns a series of n rounds in which nothing was measured yet.
func unmeasured(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

// mapped applies f to each round.
func mapped(v []float64, f func(float64) float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = f(x)
	}
	return out
}

func text(s string) Cell { return Cell{Text: s} }

func number(n *Number) Cell { return Cell{Number: n} }

func count[T int | uint64](n T) Cell { return number(single(float64(n))) }
