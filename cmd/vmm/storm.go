// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"xenvmm/vmm"
	"xenvmm/vmm/storm"
)

// stormFlags choose how hard the embedded event storm blows.
type stormFlags struct {
	Events  uint64        `help:"Storm: events to send at least." default:"100000" placeholder:"N"`
	Changes uint64        `help:"Storm: memslot changes to make at least." default:"1500" placeholder:"N"`
	Sources int           `help:"Storm: eventfds that send." default:"64" placeholder:"N"`
	Senders int           `help:"Storm: threads that write to them." default:"2" placeholder:"N"`
	Moves   int           `help:"Storm: times the guest moves its shared_info." default:"50" placeholder:"N"`
	Pace    time.Duration `help:"Storm: a sender's pause after each round over its eventfds." default:"200us" placeholder:"TIME"`
	Upcall  string        `help:"Storm: how the guest is interrupted: vector, callback or gsi." enum:"vector,callback,gsi" default:"vector"`
}

// storm runs the embedded guest while events and memslot changes go on.
func (r *runCmd) storm(s stdio, log *slog.Logger) error {
	if r.Evtchn == vmm.EvtchnKernel {
		return &vmm.ConfigError{Field: "evtchn", Value: r.Evtchn,
			Remedy: "the storm counts what was delivered, and the kernel tells nobody: give a kernel or --guest, or see vmm bench peer"}
	}
	if r.DryRun {
		return r.dryRunStorm(s)
	}
	ctx, quit, stop := r.context()
	defer stop()
	cfg, con, err := r.config(s, io.Discard, log, quit)
	if err != nil {
		return err
	}
	defer con.Close()
	sc := storm.Config{
		Machine: cfg, Sources: r.Sources, Senders: r.Senders, Events: r.Events, Changes: r.Changes,
		Moves: none(r.Moves), Pace: none(r.Pace), Upcall: r.Upcall, Args: r.Cmdline,
	}
	sc.Machine.Console.In = nil // nobody reads it
	progress := newProgress(s, r.JSON)
	sc.Progress = progress.show
	report, err := storm.Run(ctx, sc)
	progress.clear()
	con.Close()
	if err != nil {
		return err
	}
	if r.JSON {
		err = printJSON(s.out, report)
	} else {
		err = printReport(s.out, report)
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	if report.OK() {
		return nil
	}
	fmt.Fprintf(s.err, "vmm: %s\n", report.Problem())
	if report.Guest.Ending != vmm.Poweroff {
		complain(s.err, report.Guest)
	}
	if err := ended(ctx, report.Guest); err != nil {
		return err
	}
	return exitCode(exitEventsLost)
}

// none turns a 0 from the command line, which means none there, into what means
// none in a storm.Config.
func none[T int | time.Duration](v T) T {
	if v == 0 {
		return -1
	}
	return v
}

// printReport prints what people read.
func printReport(w io.Writer, r *storm.Report) error {
	verdict := "no verdict"
	if v := r.Guest.Verdict; v != nil {
		verdict = v.Result
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	line("guest", "%s, %s; %d vCPU%s, guard %s, %d eventfds, %.1f s", verdict, r.Guest.Ending, r.CPUs, plural(r.CPUs), r.Guard, r.Sources, r.Elapsed.Seconds())
	line("events sent", "%d", r.Sent)
	line("delivered", "%d (taken by the guest: %d, in %d upcalls)", r.Delivered, r.Taken, r.Upcalls)
	line("coalesced", "%d", r.Coalesced)
	line("lost", "%d", r.Lost)
	line("slow path", "%d deliveries (kept until memory was back: %d)", r.SlowPath, r.Latched)
	line("memslot changes", "%d (and %d remaps, %d moves by the guest)", r.Changes, r.Remaps, r.GuestMoves)
	line("invalidations", "%d (met a cache: %d, fast path %.2f %%)", r.Invalidations, r.Hits, 100*r.FastShare)
	latency := func(name string, l vmm.Latency) {
		line(name, "p50 %v  p99 %v  p99.9 %v  max %v", l.P50, l.P99, l.P999, l.Max)
	}
	latency("delivery", r.Delivery)
	latency("drain", r.Drain)
	return t.Flush()
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// progress is one line on a terminal that is written over.
type progress struct {
	w     io.Writer
	shown bool
}

func newProgress(s stdio, quiet bool) *progress {
	if quiet || !term.IsTerminal(int(s.err.Fd())) {
		return &progress{}
	}
	return &progress{w: s.err}
}

func (p *progress) show(s storm.Progress) {
	if p.w == nil {
		return
	}
	p.shown = true
	fmt.Fprintf(p.w, "\r%d of %d events, %d of %d memslot changes ", s.Events, s.EventsWanted, s.Changes, s.ChangesWanted)
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\033[K")
	}
}

var errNoStorm = errors.New("the storm guest is not part of this build")
