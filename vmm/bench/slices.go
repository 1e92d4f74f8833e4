// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"
)

// A load is what one thread does over and over. run does about n operations, at
// least one, and returns how many; it allocates nothing.
type load interface {
	run(n int) (done int)
}

// A slicer measures loads in slices.
type slicer struct {
	crew  *crew
	cpus  []int         // that may be used
	slice time.Duration // how long a slice is
	want  int           // undisturbed slices
	noise *Noise        // slices are counted here
}

const (
	// lead is how long after the last thread has come a slice starts.
	lead = 20 * time.Microsecond
	// late is how much later than that a thread may start.
	late = 2 * time.Microsecond
	// chunkTime is how often a thread looks at the clock.
	chunkTime = 8 * time.Microsecond
	// triesPerSlice bounds how many slices are measured for each one wanted.
	triesPerSlice = 6
	// crowdSlice is the length of a slice with more threads than CPUs: each has
	// to get its turn, so none is undisturbed and few are needed.
	crowdSlice  = 15 * time.Millisecond
	crowdSlices = 1
	crowdWarm   = time.Millisecond // of the slice before those that count
)

// A sliceOf is one thread's part of the slices of a row.
type sliceOf struct {
	_             [128]byte
	done          int
	from, to      time.Time
	disturbed     bool
	chunk         int
	before, after usage
	_             [128]byte
}

// A sliced is what came of measuring one row once.
type sliced struct {
	rate              float64 // operations per second of all threads together
	total             uint64  // operations done in all, counted or not
	slices, disturbed int     // where there is a CPU for each thread
}

// measure has n threads each do the load that setup returns there. The rate is
// the median over undisturbed slices, or over all if there was none undisturbed.
func (s *slicer) measure(ctx context.Context, n int, setup func(id int) (load, func())) (out sliced) {
	crowd := n > len(s.cpus)
	length, want := s.slice, s.want
	if crowd {
		length, want = max(crowdSlice, s.slice), min(crowdSlices, s.want)
	}
	var (
		b         = newBarrier(n, crowd)
		parts     = make([]sliceOf, n)
		good, bad []float64
		start     time.Time
		stop      = ctx.Err() != nil
		warm      bool
		current   = length
	)
	if crowd {
		current = crowdWarm
	}
	settle := func() { // between slices, on one thread
		span, undisturbed := sum(parts, crowd), true
		for i := range parts {
			out.total += uint64(parts[i].done)
			undisturbed = undisturbed && !parts[i].disturbed
		}
		switch {
		case !warm: // caches, branch predictors and chunks are ready only now
			warm, current = true, length
		case crowd:
			good = append(good, span)
		case undisturbed:
			good = append(good, span)
			out.slices++
		default:
			bad = append(bad, span)
			out.slices++
			out.disturbed++
		}
		stop = len(good) >= want || len(good)+len(bad) >= want*triesPerSlice || ctx.Err() != nil
	}
	s.crew.start(0, n, func(id int) {
		if crowd {
			confine(s.cpus...)
		} else {
			confine(s.cpus[id])
		}
		l, release := setup(id)
		defer release()
		p := &parts[id]
		p.chunk = 1
		for {
			b.wait(func() { start = time.Now().Add(lead) })
			if stop {
				return
			}
			p.run(l, start, current, crowd)
			b.wait(settle)
		}
	})
	s.crew.wait()
	s.noise.Slices += out.slices
	s.noise.Disturbed += out.disturbed
	if len(good) == 0 {
		good = bad
	}
	out.rate = math.NaN()
	if m := median(good); m != nil {
		out.rate = m.Median
	}
	return out
}

// A disturbance is how many of a row's slices were disturbed, in all rounds.
type disturbance struct{ slices, disturbed int }

func (d *disturbance) add(s sliced) {
	d.slices += s.slices
	d.disturbed += s.disturbed
}

// disturbance is the share of a row's slices that were disturbed; with more
// threads than CPUs they are not told apart.
func (s *slicer) disturbance(threads int, d *disturbance) Cell {
	switch {
	case threads > len(s.cpus):
		return text("crowded")
	case d.slices == 0:
		return Cell{}
	}
	return number(single(float64(d.disturbed) / float64(d.slices)))
}

// run is one thread's slice.
func (p *sliceOf) run(l load, start time.Time, length time.Duration, crowd bool) {
	p.before.take()
	for !crowd && time.Until(start) > 0 {
	}
	p.from = time.Now()
	p.done = 0
	for {
		p.done += l.run(p.chunk)
		if p.to = time.Now(); p.to.Sub(start) >= length {
			break
		}
	}
	p.after.take()
	p.disturbed = p.from.Sub(start) > late || disturbed(&p.before, &p.after)
	took := max(p.to.Sub(p.from), 1)
	p.chunk = min(max(int(float64(p.done)*float64(chunkTime)/float64(took)), 1), 1<<16)
}

// sum is the operations per second of all threads together. With a CPU for each,
// they ran side by side; otherwise what counts is how long all took.
func sum(parts []sliceOf, crowd bool) (rate float64) {
	from, to, done := parts[0].from, parts[0].to, 0
	for i := range parts {
		p := &parts[i]
		done += p.done
		rate += float64(p.done) / p.to.Sub(p.from).Seconds()
		if p.from.Before(from) {
			from = p.from
		}
		if p.to.After(to) {
			to = p.to
		}
	}
	if crowd {
		return float64(done) / to.Sub(from).Seconds()
	}
	return rate
}

// slicedParams are the parameters of a measurement in slices.
func slicedParams(guards []string, threads []int, rounds, slices int, slice time.Duration) []Param {
	return []Param{
		{"guards", strings.Join(guards, ", ")},
		{"threads", strings.Trim(fmt.Sprint(threads), "[]")},
		{"rounds", fmt.Sprint(rounds)},
		{"slices per round", fmt.Sprintf("%d of %v", slices, slice)},
	}
}
