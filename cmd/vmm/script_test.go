// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"xenvmm/vmm/kvm/kvmtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"vmm": main})
}

// code N COMMAND ARGS: the command must end with exit code N.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s ended with exit code %d, want %d", args[1], got, want)
	}
}

// oneline: what the last command wrote to standard error is exactly one line
// and no stack trace.
func oneline(ts *testscript.TestScript, _ bool, _ []string) {
	text := ts.ReadFile("stderr")
	lines := 0
	for _, c := range text {
		if c == '\n' {
			lines++
		}
	}
	if lines != 1 {
		ts.Fatalf("want one line on standard error, got %d:\n%s", lines, text)
	}
}

// repeat NAME N TEXT: sets an environment variable to N times TEXT.
func repeat(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	var b []byte
	for range n {
		b = append(b, args[2]...)
	}
	ts.Setenv(args[0], string(b))
}

func scripts(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"code": code, "oneline": oneline, "repeat": repeat},
		Setup: func(e *testscript.Env) error {
			// The kernels that scripts use are taken from the embedded guests.
			return writeGuests(e.WorkDir)
		},
	}
}

func TestCommandLine(t *testing.T) { testscript.Run(t, scripts("testdata/script")) }

// TestKVMCommandLine holds the scripts that run guests.
func TestKVMCommandLine(t *testing.T) {
	kvmtest.Open(t)
	testscript.Run(t, scripts("testdata/kvm"))
}

func TestExitCodesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/exit-codes.md")
	if err != nil {
		t.Skipf("the documentation is not here: %v", err)
	}
	for _, c := range []int{
		exitOK, exitError, exitUsage, exitHost, exitTestFailed, exitCrash, exitTripleFault,
		exitReboot, exitWatchdog, exitStuck, exitEventsLost, exitMissed, exitTimeout,
	} {
		if !containsLine(string(doc), "| "+strconv.Itoa(c)+" |") {
			t.Errorf("docs/exit-codes.md has no row for %d", c)
		}
	}
}
