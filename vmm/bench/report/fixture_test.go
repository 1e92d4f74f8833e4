// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"xenvmm/vmm/bench"
)

func num(median, lo, hi float64) bench.Cell {
	return bench.Cell{Number: &bench.Number{Median: median, Min: lo, Max: hi, N: 7}}
}

func one(v float64) bench.Cell {
	return bench.Cell{Number: &bench.Number{Median: v, Min: v, Max: v, N: 1}}
}

func label(s string) bench.Cell { return bench.Cell{Text: s} }

// fixture has something of everything a report can hold.
func fixture() *bench.Report {
	return &bench.Report{
		Name: "sample", Title: "a sample of everything",
		Env: bench.Env{
			Date: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC), CPUs: 2, CPUModel: "Example CPU 9", Kernel: "6.12.0",
			GoVersion: "go1.26.0", GOMAXPROCS: 2, WaitPolicy: "futex",
		},
		Params:  []bench.Param{{Name: "rounds", Value: "7"}, {Name: "guards", Value: "srcu, rwlock, none"}},
		Elapsed: 12345 * time.Millisecond,
		Noise:   bench.Noise{Slices: 12345, Disturbed: 1234, Steal: 0.0123, Foreign: 0.4},
		Tables: []bench.Table{
			{
				ID: "rates", Title: "Deliveries, full path", Columns: []bench.Column{
					{ID: "threads", Name: "threads", Kind: bench.Label}, {ID: "guard", Name: "guard", Kind: bench.Label},
					{ID: "rate", Name: "deliveries", Kind: bench.Rate}, {ID: "ns", Name: "each", Kind: bench.Duration},
					{ID: "x", Name: "to rwlock", Kind: bench.Ratio}, {ID: "share", Name: "fast path", Kind: bench.Share},
					{ID: "n", Name: "drains", Kind: bench.Count}, {ID: "pub", Name: "kernel", Kind: bench.Rate, Published: true},
				},
				Rows: [][]bench.Cell{
					{label("1"), label("srcu"), num(12.34e6, 11.9e6, 12.8e6), num(81, 78.1, 84), num(1.234, 1.1, 1.3), one(0.9935), one(5012345), one(4.06e6)},
					{label("1"), label("rwlock"), num(9.99e6, 9.5e6, 10.1e6), num(100, 99, 105), one(1), {}, one(0), one(3.45e6)},
					{label("2"), label("srcu"), num(24.5e6, 20e6, 26e6), num(81.6, 77, 100), num(5.5, 5.2, 9.1), one(0.0007), one(12), one(7.37e6)},
					{label("2"), label("none"), {Text: "too few CPUs"}, {}, {}, {}, {}, {}},
				},
				Notes: []string{"Each delivery raises the upcall, and the thread that made it plays the guest that takes it; this note is long enough to be broken into two lines."},
			},
			{
				ID: "drains", Title: "Drains", Columns: []bench.Column{
					{ID: "guard", Name: "guard", Kind: bench.Label}, {ID: "avg", Name: "avg", Kind: bench.Duration}, {ID: "max", Name: "max", Kind: bench.Duration},
				},
				Rows: [][]bench.Cell{
					{label("srcu"), one(150), {Number: &bench.Number{Median: 79e3, Min: 41e3, Max: 117e3, N: 10}, Text: "2 over 1 ms"}},
					{label("rwlock"), one(10200), num(914e3, 800e3, 3349e3)},
				},
			},
		},
		Histograms: []bench.Histogram{{ID: "h", Title: "Drains by length", Series: []bench.HistogramSeries{
			{Name: "srcu", Buckets: []bench.Bucket{{Low: 128, High: 256, Count: 4000}, {Low: 256, High: 512, Count: 0}, {Low: 1024, High: 2048, Count: 7}}},
			{Name: "rwlock", Buckets: []bench.Bucket{{Low: 256, High: 512, Count: 90}, {Low: 1048576, High: 2097152, Count: 1}}},
		}}},
		Plots: []bench.Plot{linesPlot(), cdfPlot(), barsPlot()},
		Notes: []string{"The kernel's figures are of other machines."},
		Targets: []bench.Target{
			{Name: "spread2-x-rwlock", What: "spread delivery, 2 threads, to rwlock", Compare: ">=", Threshold: 5, Kind: bench.Ratio,
				Value: &bench.Number{Median: 5.5, Min: 5.2, Max: 9.1, N: 7}, State: bench.Pass, Report: "delivery"},
			{Name: "drain-max", What: "drain, median of maxima", Compare: "<=", Threshold: 100e3, Kind: bench.Duration,
				Value: &bench.Number{Median: 150e3, Min: 150e3, Max: 150e3, N: 1}, State: bench.Miss, Note: "one of ten over 1 ms"},
			{Name: "fast", What: "fast-path share", Compare: ">=", Threshold: 0.97, Kind: bench.Share, State: bench.NotMeasured, Note: "needs 2 CPUs"},
		},
	}
}

func linesPlot() bench.Plot {
	at := func(x, y, spread float64) bench.Point {
		return bench.Point{X: x, Y: y, YMin: y * (1 - spread), YMax: y * (1 + spread)}
	}
	return bench.Plot{
		ID: "rates", Title: "Deliveries per second, spread", Kind: bench.Lines,
		X: bench.Axis{Name: "threads", Kind: bench.Count, Log: true}, Y: bench.Axis{Name: "deliveries per second", Kind: bench.Rate},
		Series: []bench.Series{
			{Name: "srcu", Points: []bench.Point{at(1, 12e6, .05), at(2, 24e6, .1), at(4, 24e6, .1), at(8, 23e6, .1), at(16, 23e6, .2)}},
			{Name: "rwlock", Points: []bench.Point{at(1, 8e6, .05), at(2, 3e6, .1), at(4, 3e6, .1), at(8, 3e6, .1), at(16, 2e6, .2)}},
			{Name: "none", Points: []bench.Point{at(1, 15e6, .05), at(2, 29e6, .1), at(4, 29e6, .1), at(8, 28e6, .1), at(16, 28e6, .2)}},
			{Name: "srcu", Published: true, Points: []bench.Point{at(1, 4.06e6, 0), at(2, 7.37e6, 0), at(4, 16.6e6, 0), at(8, 31.33e6, 0), at(16, 50.48e6, 0)}},
			{Name: "rwlock", Published: true, Points: []bench.Point{at(1, 3.45e6, 0), at(2, 5.72e6, 0), at(4, 12.57e6, 0), at(8, 16.25e6, 0), at(16, 10.65e6, 0)}},
			{Name: "empty"},
		},
	}
}

func cdfPlot() bench.Plot {
	tail := func(scale float64) (pts []bench.Point) {
		for x, y := scale, 1.0; y > 1e-6; x, y = x*1.3, y*0.55 {
			pts = append(pts, bench.Point{X: x, Y: y, YMin: y, YMax: y})
		}
		return append(pts, bench.Point{X: scale * 1e4}) // share 0 has no place on the axis
	}
	return bench.Plot{
		ID: "drains", Title: "Drains, 12 readers", Kind: bench.CDF,
		X: bench.Axis{Name: "length of the drain", Kind: bench.Duration, Log: true}, Y: bench.Axis{Name: "share that took longer", Kind: bench.Share, Log: true},
		Series: []bench.Series{{Name: "srcu", Points: tail(150)}, {Name: "rwlock", Points: tail(2000)}, {Name: "spinlock", Points: tail(1000)}},
	}
}

func barsPlot() bench.Plot {
	b := func(x int, y float64) bench.Point {
		return bench.Point{X: float64(x), Y: y, YMin: y * .9, YMax: y * 1.2}
	}
	return bench.Plot{
		ID: "read", Title: "Empty section", Kind: bench.Bars, Categories: []string{"1 thread", "2 threads"},
		X: bench.Axis{Name: "", Kind: bench.Label}, Y: bench.Axis{Name: "time of a section", Kind: bench.Duration, Log: true},
		Series: []bench.Series{
			{Name: "srcu", Points: []bench.Point{b(0, 4.2), b(1, 4.3)}},
			{Name: "rwlock", Points: []bench.Point{b(0, 10.1), b(1, 52)}},
			{Name: "mutex", Points: []bench.Point{b(0, 9), b(1, 300)}},
			{Name: "kernel", Published: true, Points: []bench.Point{b(0, 12)}},
		},
	}
}
