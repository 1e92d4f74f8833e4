// SPDX-License-Identifier: Apache-2.0

package report

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"xenvmm/vmm/bench"
)

// bars is one series of a bar chart. Unlike gonum's it stands on the bottom of
// the axis, wherever that is: a logarithmic one has no zero.
type bars struct {
	points    []bench.Point
	look      look
	published bool
	place, of int // this is the place-th of so many series
	kind      bench.Kind
	lone      bool // few enough bars that each is labelled
}

func addBars(g *plot.Plot, legend *plot.Legend, p *bench.Plot) {
	count := 0
	for _, s := range p.Series {
		count += len(s.Points)
	}
	for i := range p.Series {
		s := &p.Series[i]
		b := &bars{points: s.Points, look: lookOf(s.Name, i), published: s.Published, place: i, of: len(p.Series), kind: p.Y.Kind, lone: count <= 24}
		g.Add(b)
		legend.Add(legendName(s), b)
	}
}

// DataRange implements plot.DataRanger.
func (b *bars) DataRange() (xmin, xmax, ymin, ymax float64) {
	p := b.points[0]
	xmin, xmax, ymin, ymax = p.X, p.X, p.Y, p.Y
	for _, p := range b.points {
		xmin, xmax = min(xmin, p.X), max(xmax, p.X)
		lo := p.Y
		if p.YMin > 0 {
			lo = min(lo, p.YMin)
		}
		ymin, ymax = min(ymin, lo), max(ymax, p.Y, p.YMax)
	}
	return xmin, xmax, ymin, ymax
}

// Plot implements plot.Plotter.
func (b *bars) Plot(c draw.Canvas, g *plot.Plot) {
	trX, trY := g.Transforms(&c)
	const group = 0.84 // of the room of a category
	width := group / float64(b.of)
	for _, p := range b.points {
		left := p.X - group/2 + float64(b.place)*width
		x0, x1 := trX(left+0.04*width), trX(left+0.96*width)
		bottom, top := c.Min.Y, trY(p.Y)
		b.box(&c, x0, x1, bottom, top)
		mid, high := (x0+x1)/2, top
		if p.YMin != p.YMax && p.YMin > 0 {
			st := draw.LineStyle{Color: color.Black, Width: vg.Points(0.8)}
			lo, hi := trY(max(p.YMin, g.Y.Min)), trY(p.YMax)
			c.StrokeLine2(st, mid, lo, mid, hi)
			c.StrokeLine2(st, mid-vg.Points(2), hi, mid+vg.Points(2), hi)
			c.StrokeLine2(st, mid-vg.Points(2), lo, mid+vg.Points(2), lo)
			high = max(high, hi)
		}
		if b.lone {
			st := g.X.Tick.Label
			st.Font, st.XAlign, st.YAlign = sans(8), draw.XCenter, draw.YBottom
			c.FillText(st, vg.Point{X: mid, Y: high + vg.Points(2)}, quantity(b.kind, p.Y))
		}
	}
}

// box is one bar: filled, or an outline for figures of others.
func (b *bars) box(c *draw.Canvas, x0, x1, y0, y1 vg.Length) {
	corners := []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}}
	if !b.published {
		c.FillPolygon(b.look.color, corners)
		return
	}
	c.StrokeLines(draw.LineStyle{Color: b.look.color, Width: vg.Points(1), Dashes: []vg.Length{vg.Points(3), vg.Points(2)}}, append(corners, corners[0]))
}

// Thumbnail implements plot.Thumbnailer.
func (b *bars) Thumbnail(c *draw.Canvas) {
	mid, half := (c.Min.Y+c.Max.Y)/2, vg.Points(4)
	b.box(c, c.Min.X+vg.Points(4), c.Max.X-vg.Points(4), mid-half, mid+half)
}
