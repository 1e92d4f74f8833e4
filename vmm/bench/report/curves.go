// SPDX-License-Identifier: Apache-2.0

package report

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"xenvmm/vmm/bench"
)

// addCurves adds a line per series: with marks and spreads, or, for a
// distribution, in steps.
func addCurves(g *plot.Plot, legend *plot.Legend, p *bench.Plot) error {
	for i := range p.Series {
		s := &p.Series[i]
		var xys plotter.XYs
		var spread spreads
		for _, pt := range s.Points {
			xys = append(xys, plotter.XY{X: pt.X, Y: pt.Y})
			if pt.YMin != pt.YMax && placed(pt.YMin, p.Y.Log) {
				spread.points = append(spread.points, pt)
			}
		}
		l := lookOf(s.Name, i)
		line, err := plotter.NewLine(xys)
		if err != nil {
			return err
		}
		line.LineStyle = l.line(s)
		if p.Kind == bench.CDF {
			// The share above a value stays what it is up to the next one.
			line.StepStyle = plotter.PostStep
			g.Add(line)
			legend.Add(legendName(s), line)
			continue
		}
		marks, err := plotter.NewScatter(xys)
		if err != nil {
			return err
		}
		marks.GlyphStyle = l.mark(s)
		if p.Kind == bench.Lines && len(spread.points) > 0 {
			spread.style = draw.LineStyle{Color: l.color, Width: vg.Points(0.8)}
			g.Add(&spread)
		}
		g.Add(line, marks)
		legend.Add(legendName(s), line, marks)
	}
	return nil
}

// spreads are vertical bars from the smallest to the largest value of a point.
type spreads struct {
	points []bench.Point
	style  draw.LineStyle
}

// DataRange implements plot.DataRanger.
func (s *spreads) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, ymin = s.points[0].X, s.points[0].YMin
	xmax, ymax = xmin, ymin
	for _, p := range s.points {
		xmin, xmax = min(xmin, p.X), max(xmax, p.X)
		ymin, ymax = min(ymin, p.YMin), max(ymax, p.YMax)
	}
	return xmin, xmax, ymin, ymax
}

// Plot implements plot.Plotter.
func (s *spreads) Plot(c draw.Canvas, g *plot.Plot) {
	trX, trY := g.Transforms(&c)
	const cap = 2.2 // half the width of the ends, in points
	for _, p := range s.points {
		x, lo, hi := trX(p.X), trY(p.YMin), trY(p.YMax)
		c.StrokeLine2(s.style, x, lo, x, hi)
		for _, y := range []vg.Length{lo, hi} {
			c.StrokeLine2(s.style, x-vg.Points(cap), y, x+vg.Points(cap), y)
		}
	}
}
