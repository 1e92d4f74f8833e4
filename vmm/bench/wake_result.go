// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// wakeRow collects what one receiver did in one condition.
type wakeRow struct {
	condition condition
	receiver  receiver

	latency, write *hdrhistogram.Histogram // of the slice in progress, ns
	all            *hdrhistogram.Histogram // latencies of all slices
	preempted      int                     // samples in which the sender lost its CPU to somebody

	p50, p90, p99, top, write50 []float64 // per slice
}

const wakeMax = int64(60e9) // ns; nothing longer is told apart

func newWakeRow(c condition, r receiver) *wakeRow {
	h := func() *hdrhistogram.Histogram { return hdrhistogram.New(1, wakeMax, 3) }
	return &wakeRow{condition: c, receiver: r, latency: h(), write: h(), all: hdrhistogram.New(1, wakeMax, 2)}
}

func (r *wakeRow) begin() { r.latency.Reset(); r.write.Reset() }

func (r *wakeRow) record(took, written int64, preempted bool) {
	_ = r.latency.RecordValue(min(max(took, 1), wakeMax))
	if preempted {
		r.preempted++ // maybe to the handler that it woke: the latency counts
		return
	}
	_ = r.write.RecordValue(min(max(written, 1), wakeMax))
}

func (r *wakeRow) end() {
	if r.latency.TotalCount() == 0 {
		return
	}
	at := func(h *hdrhistogram.Histogram, q float64) float64 { return float64(h.ValueAtQuantile(q)) }
	r.p50, r.p90, r.p99 = append(r.p50, at(r.latency, 50)), append(r.p90, at(r.latency, 90)), append(r.p99, at(r.latency, 99))
	r.top = append(r.top, float64(r.latency.Max()))
	if r.write.TotalCount() > 0 {
		r.write50 = append(r.write50, at(r.write, 50))
	}
	r.all.Merge(r.latency)
}

// wakeResults makes the table and the plots.
func wakeResults(report *Report, rows []*wakeRow) {
	t := Table{ID: "wake", Title: "From a write to an eventfd to the handler", Columns: []Column{
		{ID: "condition", Name: "condition", Kind: Label}, {ID: "receiver", Name: "receiver", Kind: Label},
		{ID: "samples", Name: "samples", Kind: Count}, {ID: "preempted", Name: "preempted", Kind: Share},
		{ID: "p50", Name: "p50", Kind: Duration}, {ID: "p90", Name: "p90", Kind: Duration},
		{ID: "p99", Name: "p99", Kind: Duration}, {ID: "max", Name: "max", Kind: Duration},
		{ID: "write", Name: "write() p50", Kind: Duration},
	}, Notes: []string{
		"Times are medians over rounds, with the smallest and the largest. One event is in flight at a time; it is sent by a thread that sleeps in between.",
		"netpoll: a goroutine that reads a file. epoll thread, busy poll: vmm/eventfd, as the machine uses it, without and with Options.BusyPoll.",
		"preempted: the sender lost its processor during the write, often to the very handler that it woke; such writes are not in write() p50.",
		"all Ps busy: as many goroutines as GOMAXPROCS never rest. Whoever wakes then needs a P from one of them: the network poller " +
			"is asked only when the scheduler gets round to it, a thread that returns from a system call queues for a P.",
		"write(): it includes waking the other processor if that is idle.",
		"The kernel series publishes no figures for this: its wake-up runs in the context of the writer.",
	}}
	for _, r := range rows {
		if r.all.TotalCount() == 0 {
			continue
		}
		n := float64(r.all.TotalCount())
		t.Rows = append(t.Rows, []Cell{
			{Text: r.condition.name}, {Text: r.receiver.name},
			{Number: single(n)}, {Number: single(float64(r.preempted) / n)},
			{Number: median(r.p50)}, {Number: median(r.p90)}, {Number: median(r.p99)}, {Number: median(r.top)}, {Number: median(r.write50)},
		})
	}
	report.Tables = append(report.Tables, t)
	for _, c := range wakeConditions() {
		plot := Plot{
			ID: strings.NewReplacer(",", "", " ", "-").Replace(strings.ToLower(c.name)), Title: "eventfd to handler: " + c.name, Kind: CDF,
			X: Axis{Name: "time from write to handler", Kind: Duration, Log: true},
			Y: Axis{Name: "share that took longer", Kind: Share, Log: true},
		}
		for i := range rows {
			if r := rows[i]; r.condition.name == c.name && r.all.TotalCount() > 0 {
				plot.Series = append(plot.Series, Series{Name: r.receiver.name, Points: above(r.all)})
			}
		}
		if len(plot.Series) > 0 {
			report.Plots = append(report.Plots, plot)
		}
	}
}

// above is the share of samples that are larger than each value there is.
func above(h *hdrhistogram.Histogram) []Point {
	var points []Point
	total, seen := float64(h.TotalCount()), int64(0)
	for _, b := range h.Distribution() {
		if b.Count == 0 {
			continue
		}
		if seen == 0 {
			points = append(points, Point{X: float64(b.From), Y: 1, YMin: 1, YMax: 1})
		}
		seen += b.Count
		y := 1 - float64(seen)/total
		points = append(points, Point{X: float64(b.To), Y: y, YMin: y, YMax: y})
	}
	return points
}
