// SPDX-License-Identifier: Apache-2.0

package bench

import "strings"

// peerResults makes the tables.
func peerResults(report *Report, run *peerRun) {
	ratio := func(f *[whoCount]peerFigure) Cell { return number(median(ratios(f[whoOurs].p50, f[whoKernel].p50))) }
	delivery := Table{ID: "delivery", Title: "One event at a time, to a halted vCPU that takes it in its upcall handler", Columns: []Column{
		{ID: "what", Name: "way, until", Kind: Label},
		{ID: "ours", Name: "ours", Kind: Duration}, {ID: "ours_p99", Name: "p99", Kind: Duration},
		{ID: "kernel", Name: "kernel", Kind: Duration}, {ID: "kernel_p99", Name: "p99", Kind: Duration},
		{ID: "ratio", Name: "ours / kernel", Kind: Ratio},
	}, Notes: []string{
		"raise: a call. Ours sets the bits through the gpc and sends the interrupt by KVM_SIGNAL_MSI; the kernel's is KVM_XEN_HVM_EVTCHN_SEND.",
		"eventfd: a write. Ours wakes a thread that delivers as above; the kernel's is an irqfd with a route to the event channel, and delivers within the write.",
		"taken: the guest's handler has exchanged flag, selector and pending bits for 0 and counted the event.",
	}}
	for _, e := range run.events {
		back := "call back"
		if e.what == "eventfd" {
			back = "write back"
		}
		for _, row := range []struct {
			what string
			f    *[whoCount]peerFigure
		}{{back, &e.call}, {"taken", &e.taken}} {
			o, k := &row.f[whoOurs], &row.f[whoKernel]
			delivery.Rows = append(delivery.Rows, []Cell{
				text(e.what + ", " + row.what),
				number(median(o.p50)), number(median(o.p99)), number(median(k.p50)), number(median(k.p99)), ratio(row.f),
			})
		}
	}
	changes := Table{ID: "invalidation", Title: "Changes of memory while a cache of shared_info is live", Columns: []Column{
		{ID: "what", Name: "change", Kind: Label}, {ID: "none", Name: "no cache", Kind: Duration},
		{ID: "ours", Name: "ours", Kind: Duration}, {ID: "kernel", Name: "kernel", Kind: Duration}, {ID: "ratio", Name: "ours / kernel", Kind: Ratio},
	}, Notes: []string{
		"Time of the change as its maker sees it. Ours: mark the cache, wait for readers, change, let go. The kernel's: the change alone, whose notifiers do that.",
		"no cache: none is live, so that it is the change by itself. busy: another thread delivers without a pause, as fast as the guest takes it.",
		"first event: from the call after the change until taken, with what it costs to find the memory again.",
		"A slot that comes or goes anywhere makes the kernel look all its caches up again, and of ours only those in its range.",
	}}
	for _, c := range run.changes {
		for _, row := range []struct {
			what string
			f    *[whoCount]peerFigure
		}{{c.what, &c.idle}, {c.what + ", busy", &c.busy}, {c.what + ", first event", &c.after}} {
			changes.Rows = append(changes.Rows, []Cell{
				text(row.what), number(median(row.f[whoNone].p50)), number(median(row.f[whoOurs].p50)), number(median(row.f[whoKernel].p50)), ratio(row.f),
			})
		}
	}
	account := Table{ID: "account", Title: "Events in all", Columns: []Column{
		{ID: "side", Name: "side", Kind: Label}, {ID: "sent", Name: "sent and taken", Kind: Count},
	}, Notes: []string{"Each was sent when the guest had counted the one before; a run in which one is missing or one too many ends with an error."}}
	for _, s := range run.sides() {
		account.Rows = append(account.Rows, []Cell{text(s.name()), count(run.sent[s])})
	}
	report.Tables = append(report.Tables, delivery, changes, account)
	report.Notes = append(report.Notes, "Times are medians over rounds of each round's p50 or p99, with the smallest and the largest; the two sides take turns event by event.")
	if emulated(report.Env) {
		report.Notes = append(report.Notes, "This host's processors are emulated (QEMU TCG): exits, interrupts and wake-ups cost many times what they cost on real ones, "+
			"in other proportions. The times mean nothing by themselves, and the ratios are a hint only.")
	}
}

// emulated tells whether the processors are QEMU's emulation, as in the lab.
func emulated(e Env) bool { return strings.Contains(e.CPUModel, "QEMU TCG CPU") }
