// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"xenvmm/guest"
	"xenvmm/tests/lab/labcmd"
	"xenvmm/vmm/bench"
)

// stdio is the process's standard streams; tests pass others.
type stdio struct {
	in       *os.File
	out, err *os.File
}

// cli is the command line.
type cli struct {
	Log    logFlags        `embed:""`
	Config kong.ConfigFlag `help:"Read options from a YAML file with the long flags' names as keys; flags given as well win." placeholder:"FILE.yaml"`

	Run     runCmd     `cmd:"" help:"Run a guest: the embedded event storm, or a kernel."`
	Bench   benchCmd   `cmd:"" help:"Measure the cache that events are delivered through, and its guards."`
	Doctor  doctorCmd  `cmd:"" help:"Tell what this host can do, what is missing and what to do about it."`
	Inspect inspectCmd `cmd:"" help:"Tell what a kernel file is and how it would be started."`
	Lab     labcmd.Cmd `cmd:"" help:"Run programs on a KVM host inside an emulator."`
}

const description = `Runs Xen-aware guests on any KVM host, with all of Xen in user space.`

// run parses the arguments, runs the verb and returns the exit code.
func run(args []string, s stdio) int {
	var c cli
	exited := -1
	parser, err := kong.New(&c,
		kong.Name("vmm"), kong.Description(description), kong.UsageOnError(),
		kong.Writers(s.out, s.err),
		kong.Exit(func(code int) { exited = code }),
		kong.Configuration(loadYAML),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"guards": guardNames(), "bench_guards": benchGuardNames(),
			"bench_forms": joined(bench.Forms()), "bench_profiles": joined(bench.Profiles()), "guests": strings.Join(guest.Names(), ", "), "device_syntax": deviceSyntax},
	)
	if err != nil {
		return fail(s.err, fmt.Errorf("command line definition: %w", err))
	}
	k, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help
	}
	if err != nil {
		_ = fail(s.err, &usageError{err})
		return usageCode(err)
	}
	k.Bind(s)
	k.Bind(c.Log.logger(s.err))
	if runsProgram(k.Command()) {
		return runProgram(&c.Lab, k.Command())
	}
	err = k.Run()
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	if err != nil {
		return fail(s.err, err)
	}
	return exitOK
}

// fail prints an error in one line and returns its exit code.
func fail(w io.Writer, err error) int {
	fmt.Fprintf(w, "vmm: %s\n", oneLine(err))
	return codeOf(err)
}
