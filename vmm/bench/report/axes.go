// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"xenvmm/vmm/bench"
)

// setAxes sets ranges and ticks once everything has been added.
func setAxes(g *plot.Plot, p *bench.Plot) {
	for _, a := range []*plot.Axis{&g.X, &g.Y} {
		a.Tick.Label.Font, a.Padding = sans(9.5), 0
	}
	setAxis(&g.Y, p.Y)
	if p.Kind == bench.Bars {
		g.X.Min, g.X.Max = -0.5, float64(len(p.Categories))-0.5
		g.X.Tick.Length = 0
		g.X.Tick.Marker = categoryTicks(p.Categories)
		return
	}
	lo, hi := g.X.Min, g.X.Max
	setAxis(&g.X, p.X)
	if p.Kind == bench.Lines {
		// The quantities that were measured are the ticks.
		g.X.Tick.Marker = pointTicks(p)
		if p.X.Log {
			g.X.Min, g.X.Max = lo/1.15, hi*1.15
		} else {
			pad := 0.04 * max(hi-lo, 1)
			g.X.Min, g.X.Max = lo-pad, hi+pad
		}
	}
}

func setAxis(a *plot.Axis, of bench.Axis) {
	if of.Log {
		a.Scale = plot.LogScale{}
		lo, hi := math.Floor(math.Log10(a.Min)+1e-9), math.Ceil(math.Log10(a.Max)-1e-9)
		if hi <= lo {
			hi = lo + 1
		}
		a.Min, a.Max = math.Pow(10, lo), math.Pow(10, hi)
		a.Tick.Marker = decades{of.Kind}
		return
	}
	a.Min = min(a.Min, 0)
	if a.Max <= a.Min {
		a.Max = a.Min + 1
	}
	a.Max += 0.05 * (a.Max - a.Min)
	a.Tick.Marker = even{of.Kind}
}

// decades ticks powers of ten with their unit, and the digits between them.
type decades struct{ kind bench.Kind }

// Ticks implements plot.Ticker.
func (d decades) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	first, last := int(math.Round(math.Log10(lo))), int(math.Round(math.Log10(hi)))
	every := 1
	if last-first > 9 {
		every = 2
	}
	for e := first; e <= last; e++ {
		v := math.Pow(10, float64(e))
		t := plot.Tick{Value: v}
		if (e-first)%every == 0 {
			t.Label = roundQuantity(d.kind, v)
		}
		ticks = append(ticks, t)
		for i := 2.0; i < 10 && e < last; i++ {
			ticks = append(ticks, plot.Tick{Value: v * i})
		}
	}
	return ticks
}

// even ticks a linear axis at round distances, all in one unit.
type even struct{ kind bench.Kind }

// Ticks implements plot.Ticker.
func (e even) Ticks(lo, hi float64) []plot.Tick {
	u := unitFor(e.kind, []float64{math.Abs(hi)})
	span := (hi - lo) / u.per
	step := math.Pow(10, math.Floor(math.Log10(span/4)))
	for _, m := range []float64{1, 2, 5, 10} {
		if span/(step*m) <= 7 {
			step *= m
			break
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(lo / u.per / step); i*step*u.per <= hi; i++ {
		v := i * step
		label := trimZeros(unit{per: 1}.text(e.kind, v))
		if u.name != "" && v != 0 {
			if e.kind == bench.Ratio {
				label += u.name
			} else {
				label += " " + u.name
			}
		}
		ticks = append(ticks, plot.Tick{Value: v * u.per, Label: label})
	}
	return ticks
}

// roundQuantity is a quantity that needs no more digits than it has.
func roundQuantity(k bench.Kind, v float64) string {
	number, unit, found := strings.Cut(quantity(k, v), " ")
	if k == bench.Ratio {
		return trimZeros(strings.TrimSuffix(number, "x")) + "x"
	}
	if !found {
		return trimZeros(number)
	}
	return trimZeros(number) + " " + unit
}

// trimZeros takes a trailing ".0" and the like off.
func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// pointTicks ticks every X that has a point.
func pointTicks(p *bench.Plot) plot.ConstantTicks {
	var xs []float64
	for _, s := range p.Series {
		for _, pt := range s.Points {
			xs = append(xs, pt.X)
		}
	}
	slices.Sort(xs)
	var ticks plot.ConstantTicks
	for _, x := range slices.Compact(xs) {
		ticks = append(ticks, plot.Tick{Value: x, Label: roundQuantity(p.X.Kind, x)})
	}
	return ticks
}

func categoryTicks(names []string) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for i, n := range names {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: n})
	}
	return ticks
}

// grid draws a line at every tick, a fainter one where the tick has no label.
type grid struct{}

// Plot implements plot.Plotter.
func (grid) Plot(c draw.Canvas, g *plot.Plot) {
	trX, trY := g.Transforms(&c)
	style := func(t plot.Tick) draw.LineStyle {
		if t.Label == "" {
			return draw.LineStyle{Color: paler, Width: vg.Points(0.4)}
		}
		return draw.LineStyle{Color: pale, Width: vg.Points(0.6)}
	}
	if g.X.Tick.Length > 0 { // categories have no ticks
		for _, t := range g.X.Tick.Marker.Ticks(g.X.Min, g.X.Max) {
			if t.Value >= g.X.Min && t.Value <= g.X.Max {
				c.StrokeLine2(style(t), trX(t.Value), c.Min.Y, trX(t.Value), c.Max.Y)
			}
		}
	}
	for _, t := range g.Y.Tick.Marker.Ticks(g.Y.Min, g.Y.Max) {
		if t.Value >= g.Y.Min && t.Value <= g.Y.Max {
			c.StrokeLine2(style(t), c.Min.X, trY(t.Value), c.Max.X, trY(t.Value))
		}
	}
}
