// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"xenvmm/vmm/bench"
	"xenvmm/vmm/bench/report"
)

// benchCmd is vmm bench.
type benchCmd struct {
	Delivery   benchDelivery   `cmd:"" help:"Events delivered per second, by 1 to 16 threads, under each guard."`
	Invalidate benchInvalidate `cmd:"" help:"How long an invalidation waits for readers, under each guard."`
	Read       benchRead       `cmd:"" help:"What it costs to enter and leave a read section, under each guard."`
	Wake       benchWake       `cmd:"" help:"From a write to an eventfd to its handler, for three ways to wait."`
	Peer       benchPeer       `cmd:"" help:"Delivery and invalidation beside those of the kernel's own Xen support."`
	Targets    benchTargets    `cmd:"" help:"Whether this machine meets the project's targets."`
	All        benchAll        `cmd:"" help:"All of these, one after the other."`
}

// Help implements kong.HelpProvider.
func (benchCmd) Help() string {
	return `Measures the cache through which events reach the guest, and the guards that
can protect it. KVM is needed for delivery --kvm and peer alone. Figures that the Linux
kernel's own series published stand beside the measured ones, marked.

Examples:

    vmm bench delivery                          all guards, threads and layouts
    vmm bench delivery --guards srcu,rwlock --threads 1,2 --layout spread
    vmm bench delivery --kvm                    to a guest whose vCPUs take the upcalls
    vmm bench invalidate --profile flood --duration 300s --readers on
    vmm bench read --format json --output read.json
    vmm bench wake --plot wake.svg --plot wake.png
    vmm bench all --save results                text, JSON and plots of everything

Ctrl-C ends a benchmark early: what was measured until then is printed, marked
as partial, and the exit code is 130.`
}

// A benchPart is one report to be made.
type benchPart struct {
	name    string
	measure func(context.Context, bench.Progress) (*bench.Report, error)
}

// run makes the reports one after the other and gives each out when it is
// there. What a signal cuts short is given out too.
func (o *benchOutput) run(s stdio, parts ...benchPart) ([]*bench.Report, error) {
	// The context of vmm run, without a time limit.
	ctx, _, stop := new(runCmd).context()
	defer stop()
	if err := o.prepare(); err != nil {
		return nil, err
	}
	var reports []*bench.Report
	var failed error
	for _, p := range parts {
		bar := newBenchBar(s, o.NoProgress, p.name)
		r, err := p.measure(ctx, bar.step)
		bar.clear()
		if r != nil {
			reports = append(reports, r)
			if e := o.each(s, r, len(reports) == 1); e != nil {
				return reports, e
			}
		}
		if failed = err; failed != nil {
			break
		}
	}
	if err := o.finish(s, reports); err != nil {
		return reports, err
	}
	if failed != nil && ctx.Err() != nil {
		what := "nothing was measured"
		if len(reports) > 0 {
			what = "what was measured until then is printed"
		}
		fmt.Fprintf(s.err, "vmm: ended early by a %s: %s\n", context.Cause(ctx), what)
		failed = exitCode(codeOf(context.Cause(ctx)))
	}
	return reports, failed
}

// missed is the end of a verb that judges: its exit code tells whether targets
// were missed.
func missed(s stdio, reports []*bench.Report) error {
	names := report.Missed(reports...)
	if len(names) == 0 {
		return nil
	}
	fmt.Fprintf(s.err, "vmm: %d target%s missed: %s\n", len(names), plural(len(names)), joined(names))
	return exitCode(exitMissed)
}
