// SPDX-License-Identifier: Apache-2.0

package report

import (
	"image/color"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"xenvmm/vmm/bench"
)

// look is how a series is drawn.
type look struct {
	color color.RGBA
	glyph draw.GlyphDrawer
}

// Colours that people with any colour vision tell apart (Okabe and Ito), and
// two greys.
var (
	blue      = color.RGBA{0x00, 0x72, 0xb2, 0xff}
	sky       = color.RGBA{0x56, 0xb4, 0xe9, 0xff}
	green     = color.RGBA{0x00, 0x9e, 0x73, 0xff}
	vermilion = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
	orange    = color.RGBA{0xe6, 0x9f, 0x00, 0xff}
	purple    = color.RGBA{0xcc, 0x79, 0xa7, 0xff}
	violet    = color.RGBA{0x6a, 0x3d, 0x9a, 0xff}
	brown     = color.RGBA{0x8c, 0x56, 0x4b, 0xff}
	black     = color.RGBA{0x00, 0x00, 0x00, 0xff}
	grey      = color.RGBA{0x77, 0x77, 0x77, 0xff}
	pale      = color.RGBA{0xe4, 0xe4, 0xe4, 0xff}
	paler     = color.RGBA{0xf2, 0xf2, 0xf2, 0xff}
)

// lookOf gives a guard the same look in every picture, whatever else is in it.
// What is not a guard takes its look from its place.
func lookOf(name string, place int) look {
	first, _, _ := strings.Cut(name, " ")
	first = strings.TrimRight(first, ",:;")
	switch strings.ToLower(first) {
	case "srcu", "rcu":
		return look{blue, draw.CircleGlyph{}}
	case "srcu-notry":
		return look{sky, draw.PyramidGlyph{}}
	case "srcu-expedited":
		return look{green, draw.TriangleGlyph{}}
	case "srcu-flip":
		return look{violet, draw.CrossGlyph{}}
	case "rwlock":
		return look{vermilion, draw.SquareGlyph{}}
	case "rwlock-percache":
		return look{orange, draw.BoxGlyph{}}
	case "spinlock":
		return look{purple, draw.PyramidGlyph{}}
	case "mutex":
		return look{brown, draw.PlusGlyph{}}
	case "none":
		return look{grey, draw.RingGlyph{}}
	case "sync.rwmutex":
		return look{black, draw.CrossGlyph{}}
	}
	others := []look{
		{blue, draw.CircleGlyph{}}, {vermilion, draw.SquareGlyph{}}, {green, draw.TriangleGlyph{}}, {orange, draw.BoxGlyph{}},
		{violet, draw.CrossGlyph{}}, {sky, draw.PyramidGlyph{}}, {purple, draw.PlusGlyph{}}, {brown, draw.RingGlyph{}},
	}
	return others[place%len(others)]
}

// line is the stroke of a series.
func (l look) line(s *bench.Series) draw.LineStyle {
	st := draw.LineStyle{Color: l.color, Width: vg.Points(1.7)}
	if s.Published {
		st.Width = vg.Points(1.1)
		st.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	}
	return st
}

// mark is the glyph of a series; that of others' figures is hollow.
func (l look) mark(s *bench.Series) draw.GlyphStyle {
	st := draw.GlyphStyle{Color: l.color, Radius: vg.Points(3), Shape: l.glyph}
	if s.Published {
		switch l.glyph.(type) {
		case draw.SquareGlyph, draw.BoxGlyph:
			st.Shape = draw.SquareGlyph{}
		case draw.TriangleGlyph, draw.PyramidGlyph:
			st.Shape = draw.TriangleGlyph{}
		default:
			st.Shape = draw.RingGlyph{}
		}
	} else {
		switch l.glyph.(type) {
		case draw.SquareGlyph:
			st.Shape = draw.BoxGlyph{}
		case draw.TriangleGlyph:
			st.Shape = draw.PyramidGlyph{}
		}
	}
	return st
}

// legendName is what the legend says.
func legendName(s *bench.Series) string {
	if s.Published && !strings.Contains(s.Name, "kernel") {
		return s.Name + " (kernel series)"
	}
	return s.Name
}
