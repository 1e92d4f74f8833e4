// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"xenvmm/vmm/eventfd"
	"xenvmm/vmm/memory"
)

// The guards that ratios are formed with.
const (
	base     = "rwlock"          // one sync.RWMutex per virtual machine
	kvmShape = "rwlock-percache" // two locks per delivery
	limit    = "none"            // no protection
)

// Delivery measures how fast events are delivered under each guard. When ctx
// ends first it returns what was measured until then, together with the cause.
func Delivery(ctx context.Context, o DeliveryOptions, p Progress) (*Report, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	rows := o.rows()
	r, finish := begin("delivery", "Event delivery under each guard", o.params())
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
	e := &deliveryRun{
		o: o, mem: m, results: map[deliveryRow][]float64{}, written: map[deliveryRow][]float64{}, disturbed: map[deliveryRow]*disturbance{},
		slicer: slicer{crew: c, cpus: usableCPUs(), slice: o.Slice, want: o.Slices, noise: &r.Noise},
	}
	for _, row := range rows {
		e.results[row], e.written[row] = unmeasured(o.Rounds), unmeasured(o.Rounds)
		e.disturbed[row] = new(disturbance)
	}
	err = e.rounds(ctx, rows, p)
	if err != nil && ctx.Err() == nil {
		return nil, err
	}
	e.report(r)
	r.Partial = err != nil
	return r, err
}

func (o DeliveryOptions) complete() (DeliveryOptions, error) {
	orElse(&o.Rounds, 7)
	orElse(&o.Slices, 5)
	orElse(&o.Slice, 250*time.Microsecond)
	var err [4]error
	o.Guards, err[0] = withBases(o.Guards)
	o.Threads, err[1] = threadCounts(o.Threads)
	o.Layouts, err[2] = chosen("layout", o.Layouts, Layouts())
	o.Forms, err[3] = chosen("form", o.Forms, Forms())
	return o, errors.Join(append(err[:],
		inRange("rounds", o.Rounds, 1, 1000),
		inRange("slices", o.Slices, 1, 1000),
		inRange("slice", o.Slice, 10*time.Microsecond, time.Second))...)
}

func (o DeliveryOptions) params() []Param {
	return slicedParams(o.Guards, o.Threads, o.Rounds, o.Slices, o.Slice)
}

// A deliveryRow is one line of a table.
type deliveryRow struct {
	form, layout string
	threads      int
	guard        string
}

// rows are all rows, in the order in which a round measures them: the guards of
// one thread count one after another, so that what the machine does meanwhile
// concerns all of them.
func (o DeliveryOptions) rows() (rows []deliveryRow) {
	for _, form := range o.Forms {
		for _, layout := range o.Layouts {
			if form == FormBatch && layout != LayoutShared || form == FormWaiter && layout != LayoutSpread {
				continue
			}
			for _, n := range o.Threads {
				for _, g := range o.Guards {
					rows = append(rows, deliveryRow{form, layout, n, g})
				}
			}
		}
	}
	return rows
}

type deliveryRun struct {
	o         DeliveryOptions
	mem       *memory.Memory
	slicer    slicer
	results   map[deliveryRow][]float64 // deliveries per second, by round
	written   map[deliveryRow][]float64 // of FormWaiter: eventfd writes per second
	disturbed map[deliveryRow]*disturbance
}

func (e *deliveryRun) rounds(ctx context.Context, rows []deliveryRow, p Progress) error {
	total := e.o.Rounds * len(rows)
	for round := range e.o.Rounds {
		for i, row := range rows {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			p.tell(round*len(rows)+i, total, fmt.Sprintf("round %d of %d: %s, %s, %d threads, %s", round+1, e.o.Rounds, row.form, row.layout, row.threads, row.guard))
			if err := e.row(ctx, row, round); err != nil {
				return fmt.Errorf("bench: delivery, %s, %s, %d threads, guard %s: %w", row.form, row.layout, row.threads, row.guard, err)
			}
		}
	}
	p.tell(total, total, "")
	return nil
}

// row measures one row once.
func (e *deliveryRun) row(ctx context.Context, row deliveryRow, round int) error {
	d, err := e.domain(row)
	if err != nil {
		return err
	}
	if row.form == FormWaiter {
		done, written, err := e.waited(ctx, d, row.threads)
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		e.results[row][round], e.written[row][round] = done, written
		return nil
	}
	tallies, errs := make([]tally, row.threads), make([]error, row.threads)
	m := e.slicer.measure(ctx, row.threads, func(id int) (load, func()) {
		l, dl, release, err := e.load(d, row, id)
		if err != nil {
			errs[id] = err
			return idle{}, func() {}
		}
		return l, func() {
			tallies[id] = dl.tally
			release()
			dl.r.Close()
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := settled(row, tallies, m.total); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e.results[row][round] = m.rate
	e.disturbed[row].add(m)
	return nil
}

// domain has one shared_info, and a vcpu_info for each thread or one for all.
func (e *deliveryRun) domain(row deliveryRow) (*domain, error) {
	n := row.threads
	if row.layout == LayoutShared {
		n = 1
	}
	vcpus := make([]uint64, n)
	for i := range vcpus {
		vcpus[i] = vcpuAt(i)
	}
	d, err := newDomain(e.mem, row.guard, []uint64{sharedAt(0)}, vcpus)
	if err != nil {
		return nil, err
	}
	return d, d.clear()
}

// load makes what thread id does; it runs on that thread.
func (e *deliveryRun) load(d *domain, row deliveryRow, id int) (load, *deliverer, func(), error) {
	vcpu := d.vcpus[id%len(d.vcpus)]
	port, bits, width := portOf(row.layout, id), uint32(0), 1
	if row.form == FormBatch {
		width = batchWidth(row.threads)
		port = uint32(id * width)
		bits = (1<<width - 1) << (port % 32)
	}
	sig := signal(d.shared[0], vcpu, port)
	guest, err := newConsumer(d, sig, row.layout == LayoutSpread)
	if err != nil {
		return nil, nil, nil, err
	}
	dl := deliverer{r: d.set.NewThreadReader(), sig: sig, guest: guest}
	nothing := func() {}
	switch row.form {
	case FormEarly:
		l := &earlyLoad{dl}
		l.r.Deliver(sig) // from now on it is pending
		return l, &l.deliverer, nothing, nil
	case FormBatch:
		l := &batchLoad{deliverer: dl, bits: bits, width: width}
		l.guest.bits = bits
		return l, &l.deliverer, nothing, nil
	case FormEventFD:
		ev, err := eventfd.New()
		if err != nil {
			dl.r.Close()
			return nil, nil, nil, err
		}
		l := &eventfdLoad{deliverer: dl, event: ev}
		return l, &l.deliverer, func() { _ = ev.Close() }, nil
	}
	l := &inlineLoad{dl}
	return l, &l.deliverer, nothing, nil
}

// batchWidth is how many bits of the shared word each thread has.
func batchWidth(threads int) int { return max(min(8, 32/threads), 1) }

// idle stands in for a load that could not be made.
type idle struct{}

func (idle) run(n int) int { return n }

// settled checks that what was counted is what was done.
func settled(row deliveryRow, tallies []tally, total uint64) error {
	var t tally
	for i := range tallies {
		t.add(&tallies[i])
	}
	wrong := t.other != 0 || t.events != total || t.raised+t.pending+t.early != total
	if row.layout == LayoutSpread { // nobody else writes these words
		switch row.form {
		case FormEarly:
			wrong = wrong || t.early != total
		default:
			wrong = wrong || t.raised != total
		}
	}
	if wrong {
		return fmt.Errorf("%d deliveries counted, but the results are %+v: the guard or the bench is broken", total, t)
	}
	return nil
}

// clear makes nothing pending.
func (d *domain) clear() error {
	r := d.set.NewReader()
	defer r.Close()
	var zero [pageSize]byte
	for _, c := range slices.Concat(d.shared, d.vcpus) {
		n := uint64(pageSize)
		if !slices.Contains(d.shared, c) {
			n = 64
		}
		if !r.WriteAt(c, zero[:n], 0) {
			return fmt.Errorf("a cache went stale with nobody invalidating it")
		}
	}
	return nil
}
