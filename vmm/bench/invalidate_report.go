// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"math"
)

// longDrain is where the tail begins that is looked at for whether the waiter
// itself was stopped.
const longDrain = 100e3 // ns

func (e *drainRun) report(r *Report, loads []drainLoad) {
	for _, l := range loads {
		r.Tables = append(r.Tables, e.table(l))
		h := Histogram{ID: l.id, Title: l.title}
		p := Plot{ID: l.id, Title: l.title, Kind: CDF,
			X: Axis{Name: "drain took longer than", Kind: Duration, Log: true}, Y: Axis{Name: "share of drains", Kind: Share, Log: true}}
		for _, g := range l.guards {
			all, _ := e.pooled(l.id, g)
			h.Series = append(h.Series, HistogramSeries{Name: g, Buckets: all.doubling()})
			p.Series = append(p.Series, Series{Name: g, Points: all.tail()})
		}
		r.Histograms, r.Plots = append(r.Histograms, h), append(r.Plots, p)
	}
	r.Notes = append(r.Notes,
		"A drain is InvalidateStart from its call to its return, as the updater sees it: the look-up of the caches, withdrawing their mappings, and the wait for readers. Nothing is dropped: what the machine did to an updater is in its tail.",
		"avg, p50, p99, p99.9 and max are medians over repetitions of that repetition's figure; \"worst\" is the largest of all.",
		"The waiter counts as stopped in a drain if its thread was switched out while it wanted to run, or did not sleep and got much less processor time than went by.",
		"Of the drains that missed the fast path, the witnessed found that a reader had lost its processor, which ends its section; the fenced had the kernel restart sections (a membarrier).",
		"Readers block on the refresh when they find a cache stale, as the product's do.",
		fmt.Sprintf("%s waits for nobody: it shows what the harness and the machine add by themselves.", limit))
}

// pooled are all repetitions together.
func (e *drainRun) pooled(load, guard string) (all, stopped *durations) {
	all, stopped = new(durations), new(durations)
	for i := range e.results[drainRow{load, guard}] {
		res := &e.results[drainRow{load, guard}][i]
		all.merge(&res.drains)
		stopped.merge(&res.stopped)
	}
	return all, stopped
}

// each is a figure of every repetition; nil where there was none.
func (e *drainRun) each(load, guard string, f func(*drainResult) float64) (out []float64) {
	results := e.results[drainRow{load, guard}]
	for i := range results {
		out = append(out, f(&results[i]))
	}
	return out
}

func drainMean(r *drainResult) float64 { return r.drains.mean() }
func drainP99(r *drainResult) float64  { return r.drains.quantile(0.99) }
func drainP999(r *drainResult) float64 { return r.drains.quantile(0.999) }
func drainMax(r *drainResult) float64  { return r.drains.largest() }

func (e *drainRun) table(l drainLoad) Table {
	t := Table{
		ID: l.id, Title: l.title,
		Columns: []Column{
			{ID: "guard", Name: "guard", Kind: Label},
			{ID: "drains", Name: "drains", Kind: Count},
			{ID: "avg", Name: "avg", Kind: Duration},
			{ID: "published_avg", Name: "kernel series", Kind: Duration, Published: true},
			{ID: "published_rt_avg", Name: "kernel, RT", Kind: Duration, Published: true},
			{ID: "p99", Name: "p99", Kind: Duration},
			{ID: "p999", Name: "p99.9", Kind: Duration},
			{ID: "max", Name: "max", Kind: Duration},
			{ID: "published_max", Name: "kernel series", Kind: Duration, Published: true},
			{ID: "published_rt_max", Name: "kernel, RT", Kind: Duration, Published: true},
			{ID: "avg_x_rwlock", Name: "avg x rwlock", Kind: Ratio},
			{ID: "p999_x_rwlock", Name: "p99.9 x rwlock", Kind: Ratio},
			{ID: "missed", Name: "missed fast path", Kind: Share},
			{ID: "published_missed", Name: "kernel series", Kind: Share, Published: true},
			{ID: "witnessed", Name: "witnessed", Kind: Share},
			{ID: "fenced", Name: "fenced", Kind: Share},
			{ID: "p50", Name: "p50", Kind: Duration},
			{ID: "worst", Name: "worst", Kind: Duration},
			{ID: "avg_x_flip", Name: "avg x srcu-flip", Kind: Ratio},
			{ID: "over_ms", Name: "over 1 ms", Kind: Count},
			{ID: "calm", Name: "repetitions without", Kind: Share},
			{ID: "stopped_long", Name: "> 100 us: waiter stopped", Kind: Share},
			{ID: "stopped_p999", Name: "> p99.9: waiter stopped", Kind: Share},
			{ID: "deliveries", Name: "deliveries", Kind: Rate},
			{ID: "foreign", Name: "CPUs taken by others", Kind: Share},
		},
	}
	if l.note != "" {
		t.Notes = append(t.Notes, l.note)
	}
	if l.flood() {
		t.Notes = append(t.Notes, "The kernel series' figures are of the same flood of 12 updaters on machines with 128 CPUs (PREEMPT_DYNAMIC) and 192 CPUs (PREEMPT_RT).")
	} else {
		t.Notes = append(t.Notes, "The kernel series published nothing for this load: its figures here are of its flood.")
	}
	for _, g := range l.guards {
		t.Rows = append(t.Rows, e.tableRow(l.id, g))
	}
	return t
}

func (e *drainRun) tableRow(load, guard string) []Cell {
	all, stopped := e.pooled(load, guard)
	of := func(f func(*drainResult) float64) Cell { return number(median(e.each(load, guard, f))) }
	against := func(other string, f func(*drainResult) float64) Cell {
		return number(median(ratios(e.each(load, guard, f), e.each(load, other, f))))
	}
	part := func(n, of uint64) Cell {
		if of == 0 {
			return Cell{}
		}
		return number(single(float64(n) / float64(of)))
	}
	p999 := all.quantile(0.999)
	if math.IsNaN(p999) {
		p999 = math.Inf(1)
	}
	worst := Cell{}
	if all.n > 0 {
		worst = number(single(all.largest()))
	}
	var over, calm uint64
	for _, r := range e.results[drainRow{load, guard}] {
		if over += r.overMilli; r.overMilli == 0 {
			calm++
		}
	}
	published := publishedDrainCells(guard)
	return []Cell{
		text(guard), count(all.n),
		of(drainMean), published[0], published[2],
		of(drainP99), of(drainP999),
		of(drainMax), published[1], published[3],
		against(base, drainMean), against(base, drainP999),
		of(func(r *drainResult) float64 { return r.missed }), published[4],
		of(func(r *drainResult) float64 { return r.witnessed }), of(func(r *drainResult) float64 { return r.fenced }),
		of(func(r *drainResult) float64 { return r.drains.quantile(0.5) }), worst,
		against("srcu-flip", drainMean),
		count(over), part(calm, uint64(len(e.results[drainRow{load, guard}]))),
		part(stopped.above(longDrain), all.above(longDrain)),
		part(stopped.above(p999), all.above(p999)),
		of(func(r *drainResult) float64 { return r.deliveries }),
		of(func(r *drainResult) float64 { return r.foreign }),
	}
}

// publishedDrainCells are avg and max of the one machine, of the other, and the
// share that missed the fast path.
func publishedDrainCells(guard string) []Cell {
	p, ok := publishedDrains[asPublished(guard)]
	if !ok {
		return make([]Cell, 5)
	}
	missed := Cell{}
	if m, ok := publishedMissed[guard]; ok {
		missed = number(single(m))
	}
	return []Cell{number(single(p.dynamicAvg)), number(single(p.dynamicMax)), number(single(p.rtAvg)), number(single(p.rtMax)), missed}
}
