// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
)

// titles of the forms of delivery.
var formTitles = map[string]string{
	FormInline:  "Delivery by a direct call, every one raising the upcall",
	FormEarly:   "Delivery of what is pending already",
	FormBatch:   "Delivery of up to 8 events of one word at once",
	FormEventFD: "Delivery with an eventfd written and read in front",
	FormWaiter:  "Delivery through eventfds and waiting threads",
}

// crowdNote explains the rows that are marked as crowded.
func crowdNote(cpus int) string {
	return fmt.Sprintf("Rows with more than %d threads are crowded: there are more threads than CPUs. They show how a guard bears that, not how it scales; their slices are %v long, and not filtered.", cpus, crowdSlice)
}

const disturbedNote = "A slice is disturbed if a thread lost its processor in it, or started late. Rates are medians over the others; a round that has none of these takes what there is."

// DeliveryTableID is the ID of the table of a form and layout.
func DeliveryTableID(form, layout string) string { return form + "-" + layout }

func (e *deliveryRun) report(r *Report) {
	for _, form := range e.o.Forms {
		for _, layout := range e.o.Layouts {
			if _, ok := e.results[deliveryRow{form, layout, e.o.Threads[0], base}]; ok {
				r.Tables = append(r.Tables, e.table(form, layout))
				r.Plots = append(r.Plots, e.plot(form, layout))
			}
		}
	}
	cpus := len(e.slicer.cpus)
	r.Notes = append(r.Notes,
		"Guest memory is the product's own (package vmm/memory): every delivery marks what it wrote dirty there, which costs one load while nobody tracks dirty pages, as in a running machine.",
		"The guest is played by the delivering thread, with plain stores, after each delivery, under every guard.",
		crowdNote(cpus),
		disturbedNote,
		"Ratios are formed within a round; shown are medians over rounds. On the shared word no guard helps: the word itself is what threads wait for.")
}

func (e *deliveryRun) table(form, layout string) Table {
	t := Table{
		ID:    DeliveryTableID(form, layout),
		Title: fmt.Sprintf("%s, %s layout", formTitles[form], layout),
		Columns: []Column{
			{ID: "guard", Name: "guard", Kind: Label},
			{ID: "threads", Name: "threads", Kind: Label},
			{ID: "rate", Name: "deliveries", Kind: Rate},
			{ID: "published", Name: "kernel series", Kind: Rate, Published: true},
			{ID: "x_rwlock", Name: "x rwlock", Kind: Ratio},
			{ID: "published_x", Name: "kernel series", Kind: Ratio, Published: true},
			{ID: "ns", Name: "each", Kind: Duration},
			{ID: "x_percache", Name: "x rwlock-percache", Kind: Ratio},
			{ID: "x_none", Name: "x none", Kind: Ratio},
			{ID: "x_single", Name: "x 1 thread", Kind: Ratio},
			{ID: "disturbed", Name: "slices disturbed", Kind: Share},
		},
	}
	if form == FormWaiter {
		t.Columns = append(t.Columns[:len(t.Columns)-1], Column{ID: "writes", Name: "eventfd writes", Kind: Rate})
		t.Notes = append(t.Notes, "One delivery stands for all writes to its eventfd since the last one; every write was accounted for.")
	}
	t.Notes = append(t.Notes, "The kernel series' figures are of threads that write eventfds, each bound to an event channel of its own vCPU, on another and larger machine.")
	for _, n := range e.o.Threads {
		for _, g := range e.o.Guards {
			t.Rows = append(t.Rows, e.tableRow(form, layout, n, g))
		}
	}
	return t
}

func (e *deliveryRun) tableRow(form, layout string, n int, guard string) []Cell {
	of := func(threads int, guard string) []float64 {
		return e.results[deliveryRow{form, layout, threads, guard}]
	}
	row := deliveryRow{form, layout, n, guard}
	rates, published := of(n, guard), publishedCells(guard, layout, n)
	last := e.slicer.disturbance(n, e.disturbed[row])
	if form == FormWaiter {
		last = number(median(e.written[row]))
	}
	return []Cell{
		text(guard), text(fmt.Sprint(n)),
		number(median(rates)), published[0],
		number(median(ratios(rates, of(n, base)))), published[1],
		number(median(mapped(rates, func(r float64) float64 { return float64(n) * 1e9 / r }))),
		number(median(ratios(rates, of(n, kvmShape)))),
		number(median(ratios(rates, of(n, limit)))),
		number(median(ratios(rates, of(1, guard)))),
		last,
	}
}

// publishedCells are the published rate, and its ratio to the published rwlock.
func publishedCells(guard, layout string, threads int) []Cell {
	rate, ok := publishedRate(guard, layout, threads)
	if !ok {
		return []Cell{{}, {}}
	}
	rw, _ := publishedRate(base, layout, threads)
	return []Cell{number(single(rate)), number(single(rate / rw))}
}

func (e *deliveryRun) plot(form, layout string) Plot {
	p := Plot{
		ID:    DeliveryTableID(form, layout),
		Title: fmt.Sprintf("%s, %s layout", formTitles[form], layout),
		Kind:  Lines,
		X:     Axis{Name: "threads", Kind: Count, Log: true},
		Y:     Axis{Name: "deliveries per second", Kind: Rate, Log: true},
	}
	for _, g := range e.o.Guards {
		s := Series{Name: g}
		for _, n := range e.o.Threads {
			if m := median(e.results[deliveryRow{form, layout, n, g}]); m != nil {
				s.Points = append(s.Points, Point{float64(n), m.Median, m.Min, m.Max})
			}
		}
		p.Series = append(p.Series, s)
	}
	for _, g := range []string{"rwlock", "srcu", "spinlock"} {
		s := Series{Name: g + ", kernel series", Published: true}
		for _, n := range []int{1, 2, 4, 8, 16} {
			if rate, ok := publishedRate(g, layout, n); ok {
				s.Points = append(s.Points, Point{float64(n), rate, rate, rate})
			}
		}
		if len(s.Points) > 0 {
			p.Series = append(p.Series, s)
		}
	}
	return p
}
