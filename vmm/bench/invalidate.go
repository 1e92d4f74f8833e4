// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"xenvmm/vmm/memory"
)

// Invalidate measures how long invalidations wait for readers, from the start of
// InvalidateStart to its return, in several profiles. When ctx ends first it
// returns what was measured until then, together with the cause.
func Invalidate(ctx context.Context, o InvalidateOptions, p Progress) (*Report, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	loads := o.loads()
	r, finish := begin("invalidate", "How long an invalidation waits for readers", o.params())
	defer finish()
	m, err := newMemory()
	if err != nil {
		return nil, err
	}
	defer m.Close()
	threads := 0
	for _, l := range loads {
		if !l.goroutines {
			threads = max(threads, l.updaters()+l.readers)
		}
	}
	defer tuneRuntime(threads + 4)()
	c := newCrew(threads)
	defer c.close()
	e := &drainRun{o: o, mem: m, crew: c, cpus: usableCPUs(), spins: calibrateSpins(readerWork), results: map[drainRow][]drainResult{}}
	if o.CPUs > 0 && o.CPUs < len(e.cpus) {
		e.cpus = e.cpus[:o.CPUs]
	}
	err = e.repetitions(ctx, loads, p)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	e.report(r, loads)
	r.Partial = err != nil
	return r, err
}

func (o InvalidateOptions) complete() (InvalidateOptions, error) {
	orElse(&o.Duration, 5*time.Second)
	orElse(&o.Repetitions, 10)
	orElse(&o.Readers, 12)
	orElse(&o.Pace, 50*time.Microsecond)
	o.Pace = max(o.Pace, -1)
	var err [2]error
	o.Guards, err[0] = withBases(o.Guards)
	o.Profiles, err[1] = chosen("profile", o.Profiles, Profiles())
	if !slices.Contains([]string{ReadersBoth, ReadersOn, ReadersOff}, o.FloodReaders) {
		err[0] = errors.Join(err[0], fmt.Errorf("bench: flood readers %q: give %q, %q or %q", o.FloodReaders, ReadersBoth, ReadersOn, ReadersOff))
	}
	return o, errors.Join(append(err[:],
		inRange("repetitions", o.Repetitions, 1, 1000),
		inRange("duration", o.Duration, time.Millisecond, 24*time.Hour),
		inRange("readers", o.Readers, 1, MaxThreads),
		inRange("pace", o.Pace, -1, time.Second),
		inRange("cpus", o.CPUs, 0, 1<<20))...)
}

func (o InvalidateOptions) params() []Param {
	pace := "none"
	if o.Pace > 0 {
		pace = o.Pace.String()
	}
	return []Param{
		{"guards", strings.Join(o.Guards, ", ")},
		{"profiles", strings.Join(o.Profiles, ", ")},
		{"duration per guard and profile", fmt.Sprintf("%v in %d repetitions", o.Duration, o.Repetitions)},
		{"readers", fmt.Sprint(o.Readers)},
		{"pause after a transaction", pace},
	}
}

type drainRow struct {
	load, guard string
}

type drainRun struct {
	o       InvalidateOptions
	mem     *memory.Memory
	crew    *crew
	cpus    []int
	spins   int // of spinWork, for readerWork
	results map[drainRow][]drainResult
}

func (e *drainRun) repetitions(ctx context.Context, loads []drainLoad, p Progress) error {
	total, done := 0, 0
	for _, l := range loads {
		total += e.o.Repetitions * len(l.guards)
	}
	for rep := range e.o.Repetitions {
		for _, l := range loads {
			for _, g := range l.guards {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				p.tell(done, total, fmt.Sprintf("repetition %d of %d: %s, %s", rep+1, e.o.Repetitions, l.title, g))
				res, err := e.one(ctx, l, g, e.o.Duration/time.Duration(e.o.Repetitions))
				if err != nil {
					return fmt.Errorf("bench: invalidate, %s, guard %s: %w", l.id, g, err)
				}
				row := drainRow{l.id, g}
				e.results[row] = append(e.results[row], res)
				done++
			}
		}
	}
	p.tell(total, total, "")
	return nil
}
