// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"xenvmm/vmm/bench"
)

// A unit is how the numbers of a column are shown: divided by per, under name.
type unit struct {
	name string
	per  float64
}

func unitsOf(k bench.Kind) []unit {
	switch k {
	case bench.Rate:
		return []unit{{"/s", 1}, {"k/s", 1e3}, {"M/s", 1e6}, {"G/s", 1e9}}
	case bench.Duration:
		return []unit{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}
	case bench.Share:
		return []unit{{"%", 0.01}}
	case bench.Ratio:
		return []unit{{"x", 1}}
	}
	return []unit{{"", 1}}
}

// unitFor chooses the unit in which the middle one of values is at least 1.
func unitFor(k bench.Kind, values []float64) unit {
	us := unitsOf(k)
	var positive []float64
	for _, v := range values {
		if v > 0 && !math.IsInf(v, 0) {
			positive = append(positive, v)
		}
	}
	if len(positive) == 0 {
		return us[0]
	}
	slices.Sort(positive)
	middle := positive[len(positive)/2]
	best := us[0]
	for _, u := range us {
		if middle >= u.per {
			best = u
		}
	}
	return best
}

// text is v in the unit with three significant digits, thousands set apart.
func (u unit) text(k bench.Kind, v float64) string {
	switch {
	case math.IsNaN(v):
		return "?"
	case math.IsInf(v, 0):
		return "inf"
	}
	v /= u.per
	if k == bench.Count {
		return thousands(strconv.FormatFloat(math.Round(v), 'f', 0, 64))
	}
	a := math.Abs(v)
	digits := 0
	switch {
	case a == 0:
	case a < 0.001:
		return strconv.FormatFloat(v, 'g', 2, 64)
	case a < 0.9995:
		digits = 3
	case a < 9.995:
		digits = 2
	case a < 99.95:
		digits = 1
	}
	return thousands(strconv.FormatFloat(v, 'f', digits, 64))
}

// thousands sets a comma before every third digit of the whole part.
func thousands(s string) string {
	whole, frac, dot := strings.Cut(s, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dot {
		return sign + whole + "." + frac
	}
	return sign + whole
}

// quantity is a number with its unit, for running text and axes: "1.5 µs".
func quantity(k bench.Kind, v float64) string {
	u := unitFor(k, []float64{math.Abs(v)})
	if k == bench.Ratio {
		return u.text(k, v) + u.name
	}
	if u.name == "" {
		return u.text(k, v)
	}
	return u.text(k, v) + " " + u.name
}
