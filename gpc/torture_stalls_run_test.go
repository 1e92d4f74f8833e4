// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"xenvmm/gpc/srcu"

	"golang.org/x/sys/unix"
)

// TestTortureUnderStalls is the torture in full. Memory that is really taken away
// faults, or bears the marks, if a section uses it after its grace period; every
// event that was accepted must be taken exactly once, and all data that was
// written must be there, while readers are interrupted, stopped, descheduled and
// outnumbered in the middle of their sections. A run in which one of these did
// not happen fails, too. Readers run in a child process that a fault may kill.
//
// Under -race it runs as well, but the race detector sees neither the sections,
// which are assembly, nor the memory, which is not Go's; there it watches the
// bookkeeping around them only.
func TestTortureUnderStalls(t *testing.T) {
	var all summary
	all.Counts = map[string]int64{}
	skipped := map[string]string{}
	length := time.Duration(0)
	rseq := false // restartable sections were tortured
	for _, run := range torturePlan(t) {
		t.Run(fmt.Sprintf("%s/%d readers", run.Guard, run.Readers), func(t *testing.T) {
			sum, err := tortureUnderStalls(t, os.Args[0], run)
			if err != nil {
				t.Fatalf("%v: %v", run, err)
			}
			for what, why := range sum.Skipped {
				t.Logf("not done: %s: %s", what, why)
			}
			for _, i := range tallyEach {
				if sum.of(i) == 0 {
					t.Errorf("%v: there were no %s", run, tallyNames[i])
				}
			}
			length += run.Length
			rseq = rseq || sum.Wait == srcu.WaitRseq
			maps.Copy(skipped, sum.Skipped)
			for name, n := range sum.Counts {
				all.Counts[name] += n
			}
			t.Logf("%v: %v: %v", run, run.Length.Round(time.Millisecond), &sum)
		})
	}
	if t.Failed() {
		return
	}
	t.Logf("all together: %v", all.Counts)
	somewhere := tallyOnce
	also := func(asked bool, what, luck []tally) {
		if asked {
			somewhere = slices.Concat(somewhere, what)
			if length >= enoughForLuck {
				somewhere = slices.Concat(somewhere, luck)
			}
		}
	}
	stopped := skipped[skipStops] == ""
	also(true, nil, tallyLuck)
	also(skipped[skipRealTime] == "", tallyRealTime, nil)
	also(stopped, tallyStopped, tallyLuckStopped)
	also(stopped && rseq, nil, tallyLuckRestartable)
	for _, i := range somewhere {
		if all.of(i) == 0 {
			t.Errorf("in no run were there %s", tallyNames[i])
		}
	}
}

// tortureUnderStalls runs one child of the binary.
func tortureUnderStalls(t *testing.T, binary string, run tortureRun) (sum summary, err error) {
	t.Helper()
	config, err := json.Marshal(run)
	must(err)
	out, err := traced(t, binary, "TestTortureStallsChild", run.Length+90*time.Second, envTortureRun+"="+string(config))
	sum, ok := summaryIn(out)
	switch {
	case err != nil:
		return sum, fmt.Errorf("%w\n%s", err, out)
	case !ok || !strings.Contains(out, "SURVIVED"):
		return sum, errors.New("the child did not run to its end: " + out)
	}
	return sum, nil
}

// traced runs one test of the binary in a child process, whose threads it stops
// when the child asks for it.
func traced(t *testing.T, binary, test string, limit time.Duration, env string) (out string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	must(err)
	theirs := os.NewFile(uintptr(fds[1]), "stopper")
	cmd := exec.CommandContext(ctx, binary, "-test.run=^"+test+"$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), env, envStopper+"=3")
	cmd.ExtraFiles = []*os.File{theirs}
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &text
	must(cmd.Start())
	theirs.Close()
	tracer := background(func() { serveStops(fds[0], cmd.Process.Pid) })
	err = cmd.Wait()
	<-tracer
	must(unix.Close(fds[0]))
	if ctx.Err() != nil {
		err = fmt.Errorf("it does not end: %w", ctx.Err())
	}
	return text.String(), err
}

// slots returns the reader domain of guard srcu, nil if the guard is another.
func slots(s *Set) *srcu.Domain {
	if g, ok := s.guard.(srcuGuard); ok {
		return g.domain
	}
	return nil
}
