// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"xenvmm/vmm/bench"
)

func picture(t *testing.T, f PictureFormat, plots ...bench.Plot) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Picture(&b, f, plots...); err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("XENVMM_PICTURES"); dir != "" { // for whoever wants to look at them
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.%s", plots[0].ID, len(plots), f)), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// svgText is all text of a picture that is well-formed XML.
func svgText(t *testing.T, b []byte) string {
	t.Helper()
	var text strings.Builder
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return text.String()
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		if c, ok := tok.(xml.CharData); ok {
			text.WriteString(strings.TrimSpace(string(c)) + "\n")
		}
	}
}

func TestSVGSaysWhatItShows(t *testing.T) {
	for _, p := range fixture().Plots {
		text := svgText(t, picture(t, SVG, p))
		for _, want := range append([]string{p.Title, p.X.Name, p.Y.Name, "srcu", "rwlock"}, p.Categories...) {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing in\n%s", p.ID, want, text)
			}
		}
		if strings.Contains(text, "empty") {
			t.Errorf("%s: a series without points is in the legend", p.ID)
		}
		for _, unit := range map[string][]string{"rates": {"20 M/s", "16"}, "drains": {"1 µs", "100 %", "0.1 %"}, "read": {"10 ns", "52.0 ns"}}[p.ID] {
			if !strings.Contains(text, unit) {
				t.Errorf("%s: no %q on an axis or bar in\n%s", p.ID, unit, text)
			}
		}
	}
}

func TestPNGShowsTheSeriesInTheirColours(t *testing.T) {
	for _, p := range fixture().Plots {
		img, err := png.Decode(bytes.NewReader(picture(t, PNG, p)))
		if err != nil {
			t.Fatalf("%s: %v", p.ID, err)
		}
		if s := img.Bounds().Size(); s.X < 800 || s.Y < 400 {
			t.Errorf("%s is %v", p.ID, s)
		}
		for name, c := range map[string]color.RGBA{"srcu": blue, "rwlock": vermilion} {
			if n := count(img, c); n < 100 {
				t.Errorf("%s: %d pixels in the colour of %s", p.ID, n, name)
			}
		}
	}
}

func count(img image.Image, c color.RGBA) (n int) {
	r := img.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if color.RGBAModel.Convert(img.At(x, y)) == c {
				n++
			}
		}
	}
	return n
}

func TestSeveralPlotsAreOnePicture(t *testing.T) {
	f := fixture()
	text := svgText(t, picture(t, SVG, f.Plots...))
	for _, p := range f.Plots {
		if !strings.Contains(text, p.Title) {
			t.Errorf("%q is missing", p.Title)
		}
	}
}

func TestTheSameReportGivesTheSamePicture(t *testing.T) {
	for _, f := range PictureFormats() {
		if !bytes.Equal(picture(t, f, fixture().Plots...), picture(t, f, fixture().Plots...)) {
			t.Errorf("two %s pictures of one report differ", f)
		}
	}
}

func TestWhatCannotBeDrawnIsRefused(t *testing.T) {
	badKind, badBar, empty, onlyZero := linesPlot(), barsPlot(), linesPlot(), cdfPlot()
	badKind.Kind = "pie"
	badBar.Series[0].Points[0].X = 2
	empty.Series = []bench.Series{{Name: "x"}}
	onlyZero.Series = []bench.Series{{Name: "x", Points: []bench.Point{{X: 5}}}}
	for name, plots := range map[string][]bench.Plot{"no plots": nil, "kind": {badKind}, "bar": {badBar}, "no points": {empty}, "no point above 0 on a log axis": {onlyZero}, "a bad one among others": {linesPlot(), badKind}} {
		for _, f := range PictureFormats() {
			if err := Picture(io.Discard, f, plots...); err == nil {
				t.Errorf("%s: drawn as %s", name, f)
			}
		}
	}
	if err := Picture(io.Discard, SVG); !errors.Is(err, ErrNoPlots) {
		t.Errorf("no plots: %v", err)
	}
	if err := Picture(io.Discard, "gif", linesPlot()); err == nil || !strings.Contains(err.Error(), `"gif"`) {
		t.Errorf("gif: %v", err)
	}
}

// Axes must not fail or go round in circles, whatever was measured.
func TestOddFiguresAreDrawn(t *testing.T) {
	for name, y := range map[string]float64{"zero": 0, "one": 1, "tiny": 1e-9, "huge": 1e15} {
		for _, p := range []bench.Plot{linesPlot(), barsPlot()} {
			for _, log := range []bool{false, y > 0} {
				p.Y.Log = log
				p.Series = []bench.Series{{Name: name, Points: []bench.Point{{X: 1, Y: y, YMin: y, YMax: y}}}}
				picture(t, SVG, p)
			}
		}
	}
}
