// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"xenvmm/gpc"
	"xenvmm/vmm/memory"
)

// rawRWMutex is a row beside the guards: the lock pair alone, without the calls
// through which a guard reaches it.
const rawRWMutex = "sync.RWMutex alone"

// ReadTable is the ID of Read's table.
const ReadTable = "read"

// Read measures what entering and leaving a section costs under each guard: all
// threads read a word through one cache. When ctx ends first it returns what was
// measured until then, together with the cause.
func Read(ctx context.Context, o ReadOptions, p Progress) (*Report, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	r, finish := begin("read", "What a read section costs under each guard", o.params())
	defer finish()
	m, err := newMemory()
	if err != nil {
		return nil, err
	}
	defer m.Close()
	threads := slices.Max(o.Threads)
	defer tuneRuntime(threads + 4)()
	c := newCrew(threads)
	defer c.close()
	e := &readRun{
		o: o, mem: m, results: map[readRow][]float64{}, disturbed: map[readRow]*disturbance{},
		slicer: slicer{crew: c, cpus: usableCPUs(), slice: o.Slice, want: o.Slices, noise: &r.Noise},
	}
	err = e.rounds(ctx, p)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	e.report(r)
	r.Partial = err != nil
	return r, err
}

func (o ReadOptions) complete() (ReadOptions, error) {
	orElse(&o.Rounds, 9)
	orElse(&o.Slices, 9)
	orElse(&o.Slice, 250*time.Microsecond)
	var err [2]error
	o.Guards, err[0] = withBases(o.Guards)
	o.Threads, err[1] = threadCounts(o.Threads)
	return o, errors.Join(append(err[:],
		inRange("rounds", o.Rounds, 1, 1000),
		inRange("slices", o.Slices, 1, 1000),
		inRange("slice", o.Slice, 10*time.Microsecond, time.Second))...)
}

func (o ReadOptions) params() []Param {
	return slicedParams(o.Guards, o.Threads, o.Rounds, o.Slices, o.Slice)
}

type readRow struct {
	threads int
	guard   string
}

type readRun struct {
	o         ReadOptions
	mem       *memory.Memory
	slicer    slicer
	results   map[readRow][]float64 // ns per read, by round
	disturbed map[readRow]*disturbance
}

func (e *readRun) rows() (rows []readRow) {
	for _, n := range e.o.Threads {
		for _, g := range append(slices.Clone(e.o.Guards), rawRWMutex) {
			rows = append(rows, readRow{n, g})
		}
	}
	return rows
}

func (e *readRun) rounds(ctx context.Context, p Progress) error {
	rows := e.rows()
	for _, row := range rows {
		e.results[row], e.disturbed[row] = unmeasured(e.o.Rounds), new(disturbance)
	}
	total := e.o.Rounds * len(rows)
	for round := range e.o.Rounds {
		for i, row := range rows {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			p.tell(round*len(rows)+i, total, fmt.Sprintf("round %d of %d: %d threads, %s", round+1, e.o.Rounds, row.threads, row.guard))
			ns, err := e.row(ctx, row)
			if err != nil {
				return fmt.Errorf("bench: read, %d threads, guard %s: %w", row.threads, row.guard, err)
			}
			e.results[row][round] = ns
		}
	}
	p.tell(total, total, "")
	return nil
}

func (e *readRun) row(ctx context.Context, row readRow) (ns float64, err error) {
	var setup func(id int) (load, func())
	loads := make([]*readLoad, row.threads)
	if row.guard == rawRWMutex {
		mu := new(paddedRWMutex)
		setup = func(int) (load, func()) { return &lockLoad{mu}, func() {} }
	} else {
		d, err := newDomain(e.mem, row.guard, []uint64{sharedAt(0)}, nil)
		if err != nil {
			return 0, err
		}
		setup = func(id int) (load, func()) {
			loads[id] = &readLoad{r: d.set.NewThreadReader(), c: d.shared[0]}
			return loads[id], loads[id].r.Close
		}
	}
	m := e.slicer.measure(ctx, row.threads, setup)
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	if row.guard != rawRWMutex {
		var read uint64
		for _, l := range loads {
			read += l.read
		}
		if read != m.total {
			return 0, fmt.Errorf("%d of %d reads failed with nobody invalidating", m.total-read, m.total)
		}
	}
	e.disturbed[row].add(m)
	return float64(row.threads) * 1e9 / m.rate, nil
}

// readLoad reads a word through the cache: the smallest section there is.
type readLoad struct {
	_    [128]byte
	r    *gpc.Reader
	c    *gpc.Cache
	read uint64
	_    [128]byte
}

func (l *readLoad) run(n int) int {
	read := l.read
	for range n {
		if _, ok := l.r.Load32(l.c, 0); ok {
			read++
		}
	}
	l.read = read
	return n
}

type paddedRWMutex struct {
	_  [128]byte
	mu sync.RWMutex
	_  [128]byte
}

type lockLoad struct{ m *paddedRWMutex }

func (l *lockLoad) run(n int) int {
	for range n {
		l.m.mu.RLock()
		//lint:ignore SA2001 an empty section is what is measured
		l.m.mu.RUnlock()
	}
	return n
}

func (e *readRun) report(r *Report) {
	t := Table{
		ID: ReadTable, Title: "A section that reads one word",
		Columns: []Column{
			{ID: "guard", Name: "guard", Kind: Label},
			{ID: "threads", Name: "threads", Kind: Label},
			{ID: "ns", Name: "each", Kind: Duration},
			{ID: "published", Name: "kernel series", Kind: Duration, Published: true},
			{ID: "net", Name: "more than none", Kind: Duration},
			{ID: "x_rwlock", Name: "rwlock / it", Kind: Ratio},
			{ID: "x_net", Name: "same, without the read itself", Kind: Ratio},
			{ID: "x_single", Name: "1 thread / it", Kind: Ratio},
			{ID: "disturbed", Name: "slices disturbed", Kind: Share},
		},
		Notes: []string{
			"\"each\" is the time of one read on one thread: the section, the read in it, the checks, and the calls. \"more than none\" leaves out what it costs without a guard, and with that everything but entering and leaving; both ratios say how many times cheaper than under rwlock.",
			"\"" + rawRWMutex + "\" is a pair of RLock and RUnlock without anything around it.",
			disturbedNote, crowdNote(len(e.slicer.cpus)),
			"For the kernel series reader-side cost was asked for and never published.",
		},
	}
	p := Plot{ID: ReadTable, Title: t.Title, Kind: Lines,
		X: Axis{Name: "threads", Kind: Count, Log: true}, Y: Axis{Name: "time of one read", Kind: Duration, Log: true}}
	series := map[string]*Series{}
	for _, row := range e.rows() {
		v, unguarded, rw := e.results[row], e.results[readRow{row.threads, limit}], e.results[readRow{row.threads, base}]
		net := differences(v, unguarded)
		cells := []Cell{text(row.guard), text(fmt.Sprint(row.threads)), number(median(v)), {}, number(median(net)),
			number(median(ratios(rw, v))), number(median(netRatios(differences(rw, unguarded), net))),
			number(median(ratios(e.results[readRow{1, row.guard}], v))), e.slicer.disturbance(row.threads, e.disturbed[row])}
		switch {
		case row.guard == rawRWMutex:
			cells[4], cells[6] = Cell{}, Cell{}
		case row.guard == limit:
			cells[6] = Cell{}
		}
		t.Rows = append(t.Rows, cells)
		s := series[row.guard]
		if s == nil {
			s = &Series{Name: row.guard}
			series[row.guard] = s
		}
		if m := median(v); m != nil {
			s.Points = append(s.Points, Point{float64(row.threads), m.Median, m.Min, m.Max})
		}
	}
	for _, g := range append(slices.Clone(e.o.Guards), rawRWMutex) {
		p.Series = append(p.Series, *series[g])
	}
	r.Tables, r.Plots = append(r.Tables, t), append(r.Plots, p)
}

// leastNet is the least cost that the difference of two measurements is taken
// for: below it, what is left is noise.
const leastNet = 0.1 // ns

// netRatios divides costs that are differences.
func netRatios(a, b []float64) []float64 {
	return ratios(a, mapped(b, func(v float64) float64 { return max(v, leastNet) }))
}
