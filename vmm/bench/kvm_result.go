// SPDX-License-Identifier: Apache-2.0

package bench

import "fmt"

// kvmResults makes the table and the plots.
func kvmResults(report *Report, rows []*kvmRow) {
	t := Table{ID: "kvm", Title: "Threads write eventfds, each bound to a port of its own vCPU; the vCPUs take the upcalls", Columns: []Column{
		{ID: "layout", Name: "layout", Kind: Label}, {ID: "vcpus", Name: "vCPUs", Kind: Label}, {ID: "guard", Name: "guard", Kind: Label},
		{ID: "writes", Name: "writes", Kind: Rate}, {ID: "deliveries", Name: "deliveries", Kind: Rate},
		{ID: "published", Name: "kernel series", Kind: Rate, Published: true},
		{ID: "fresh", Name: "bit 0 to 1", Kind: Rate}, {ID: "upcalls", Name: "upcalls", Kind: Rate},
		{ID: "lost", Name: "lost", Kind: Count}, {ID: "p50", Name: "latency p50", Kind: Duration}, {ID: "p99", Name: "p99", Kind: Duration},
	}, Notes: []string{
		"Each vCPU has a thread that writes its eventfd without a pause and a thread that waits for it: three threads for each vCPU.",
		"deliveries: attempts to deliver. A write that finds an earlier one still in the eventfd goes with it; a delivery that finds the port pending " +
			"is not an event of its own to the guest. lost: set by the host and not taken by the guest, or the other way round.",
		"latency: from the write to the bits in the guest's memory, with the waking of the waiting thread in it.",
		"In the kernel series every write is a delivery, made by the writer itself inside the kernel. Here a thread has to be woken for it, " +
			"which is what limits these figures; the benchmark delivery shows what the guard itself costs.",
	}}
	for _, r := range rows {
		if len(r.deliveries) == 0 {
			continue
		}
		published := Cell{}
		if v, ok := publishedRate(r.guard, r.layout, r.vcpus); ok {
			published.Number = single(v)
		}
		t.Rows = append(t.Rows, []Cell{
			{Text: r.layout}, {Text: fmt.Sprint(r.vcpus)}, {Text: r.guard},
			{Number: median(r.writes)}, {Number: median(r.deliveries)}, published, {Number: median(r.fresh)}, {Number: median(r.upcalls)},
			{Number: single(float64(r.lost))}, {Number: median(r.p50)}, {Number: median(r.p99)},
		})
	}
	report.Tables = append(report.Tables, t)
	for _, layout := range Layouts() {
		plot := Plot{
			ID: layout, Title: "Delivery to a running guest, layout " + layout, Kind: Lines,
			X: Axis{Name: "vCPUs, and threads that write", Kind: Count, Log: true}, Y: Axis{Name: "deliveries per second", Kind: Rate},
		}
		index := map[string]int{}
		for _, r := range rows {
			if r.layout != layout || len(r.deliveries) == 0 {
				continue
			}
			i, ok := index[r.guard]
			if !ok {
				i = len(plot.Series)
				index[r.guard] = i
				plot.Series = append(plot.Series, Series{Name: r.guard})
			}
			n := median(r.deliveries)
			plot.Series[i].Points = append(plot.Series[i].Points, Point{X: float64(r.vcpus), Y: n.Median, YMin: n.Min, YMax: n.Max})
		}
		if len(plot.Series) > 0 {
			report.Plots = append(report.Plots, plot)
		}
	}
}
