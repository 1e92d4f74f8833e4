// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"xenvmm/vmm/bench"
)

// A PictureFormat is a file format for pictures, named as its files end.
type PictureFormat string

// Formats of pictures.
const (
	SVG PictureFormat = "svg"
	PNG PictureFormat = "png"
)

// PictureFormats are the formats there are.
func PictureFormats() []PictureFormat { return []PictureFormat{SVG, PNG} }

// The size of one plot, its legend included, and the resolution of a PNG.
const (
	plotWidth  = 9 * vg.Inch
	plotHeight = 4.8 * vg.Inch
	margin     = 0.12 * vg.Inch
	labelRoom  = 0.2 * vg.Inch // for the name of an axis
	dpi        = 110
)

// ErrNoPlots is the error of a picture of nothing.
var ErrNoPlots = errors.New("report: there is nothing to plot")

// Picture writes one picture with the plots below each other. Those without
// points are left out; if that leaves none, the error is ErrNoPlots.
func Picture(w io.Writer, format PictureFormat, plots ...bench.Plot) error {
	plots, err := drawable(plots)
	if err != nil {
		return err
	}
	height := plotHeight * vg.Length(len(plots))
	switch format {
	case SVG:
		c := vgsvg.New(plotWidth, height)
		if err := drawAll(draw.New(c), plots); err != nil {
			return err
		}
		var b bytes.Buffer
		if _, err := c.WriteTo(&b); err != nil {
			return err
		}
		// Not every machine has the font that the lengths were computed with.
		_, err = io.WriteString(w, strings.ReplaceAll(b.String(), "font-family:Liberation Sans;", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
		return err
	case PNG:
		c := vgimg.NewWith(vgimg.UseWH(plotWidth, height), vgimg.UseDPI(dpi))
		if err := drawAll(draw.New(c), plots); err != nil {
			return err
		}
		_, err = vgimg.PngCanvas{Canvas: c}.WriteTo(w)
		return err
	}
	return fmt.Errorf("report: unknown picture format %q: use one of %v", format, PictureFormats())
}

func drawAll(c draw.Canvas, plots []bench.Plot) error {
	for i := range plots {
		top := plotHeight * vg.Length(i)
		tile := c
		tile.Max.Y = c.Max.Y - top - margin
		tile.Min.Y = c.Max.Y - top - plotHeight + margin
		tile.Min.X, tile.Max.X = c.Min.X+margin, c.Max.X-margin
		if err := drawOne(tile, &plots[i]); err != nil {
			return fmt.Errorf("report: plot %s: %w", plots[i].ID, err)
		}
	}
	return nil
}

// drawOne draws the plot to the left and its legend beside it.
func drawOne(c draw.Canvas, p *bench.Plot) error {
	g := plot.New()
	g.Title.Text, g.Title.Padding = p.Title, vg.Points(2)
	g.Title.TextStyle.Font = sans(13)
	legend := plot.NewLegend()
	legend.TextStyle.Font = sans(10)
	legend.Top, legend.Left = true, true
	legend.Padding, legend.ThumbnailWidth = vg.Points(3), vg.Points(28)
	g.Add(grid{})
	if p.Kind == bench.Bars {
		addBars(g, &legend, p)
	} else if err := addCurves(g, &legend, p); err != nil {
		return err
	}
	setAxes(g, p)
	left, right := c, c
	left.Max.X = c.Max.X - legend.Rectangle(c).Size().X - vg.Points(14)
	right.Min.X = left.Max.X + vg.Points(10)
	right.Max.Y -= vg.Points(24) // level with the top of the axes
	axes := left
	axes.Min.X += labelRoom
	axes.Min.Y += labelRoom
	g.Draw(axes)
	labelAxes(left, g.DataCanvas(axes), p)
	legend.Draw(right)
	return nil
}

// labelAxes names them in the margins. Gonum would do it, but it takes the
// middle of a logarithmic axis for the mean of its ends, and makes room for a
// label there.
func labelAxes(c, data draw.Canvas, p *bench.Plot) {
	style := draw.TextStyle{Color: color.Black, Font: sans(11), XAlign: draw.XCenter, YAlign: draw.YBottom, Handler: plot.DefaultTextHandler}
	middle := data.Center()
	c.FillText(style, vg.Point{X: middle.X, Y: c.Min.Y}, p.X.Name)
	style.YAlign, style.Rotation = draw.YTop, math.Pi/2
	c.FillText(style, vg.Point{X: c.Min.X, Y: middle.Y}, p.Y.Name)
}

func sans(size vg.Length) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
}

// drawable are the plots that have something to show, with what has a place on
// their axes.
func drawable(plots []bench.Plot) ([]bench.Plot, error) {
	var out []bench.Plot
	for _, p := range plots {
		switch p.Kind {
		case bench.Lines, bench.CDF, bench.Bars:
		default:
			return nil, fmt.Errorf("report: plot %s: unknown kind %q", p.ID, p.Kind)
		}
		var series []bench.Series
		for _, s := range p.Series {
			s.Points = slices.DeleteFunc(slices.Clone(s.Points), func(pt bench.Point) bool {
				return !placed(pt.X, p.X.Log) || !placed(pt.Y, p.Y.Log)
			})
			for _, pt := range s.Points {
				if i := int(pt.X); p.Kind == bench.Bars && (i < 0 || i >= len(p.Categories)) {
					return nil, fmt.Errorf("report: plot %s: series %s has a bar in category %d of %d", p.ID, s.Name, i, len(p.Categories))
				}
			}
			if len(s.Points) > 0 {
				series = append(series, s)
			}
		}
		if len(series) > 0 {
			p.Series = series
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, ErrNoPlots
	}
	return out, nil
}

// placed tells whether an axis has a place for v.
func placed(v float64, log bool) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (v > 0 || !log)
}
