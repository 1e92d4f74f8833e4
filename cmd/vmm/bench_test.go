// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"xenvmm/vmm/bench"
	"xenvmm/vmm/bench/report"
)

// TestABenchmarkEndedEarlyPrintsWhatItHas interrupts one that would run for
// hours, once the progress bar shows that it has begun.
func TestABenchmarkEndedEarlyPrintsWhatItHas(t *testing.T) {
	dir := t.TempDir()
	doc := filepath.Join(dir, "wake.json")
	cmd := command(t, "bench", "wake", "--rounds", "1000", "--duration", "50s", "--format", "json", "-o", doc)
	terminal, other, err := pty.Open() // a bar is shown on terminals alone
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	defer terminal.Close()
	if err := pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: 160}); err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = other
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	other.Close()
	killer := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	defer killer.Stop()
	screen := bufio.NewReader(terminal)
	var seen strings.Builder
	interrupted := false
	for {
		b := make([]byte, 4096)
		n, err := screen.Read(b)
		seen.Write(b[:n])
		if !interrupted && strings.Contains(seen.String(), "round 2 of 1000") {
			interrupted = true
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Error(err)
			}
		}
		if err != nil {
			break // the other end is closed
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 128+int(syscall.SIGINT) {
		t.Errorf("ended with %v, want exit code 130; the screen:\n%q", err, seen.String())
	}
	if !strings.Contains(seen.String(), "vmm: ended early by a signal: interrupt: what was measured until then is printed") {
		t.Errorf("the screen:\n%q", seen.String())
	}
	b, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	reports, err := report.Read(bytes.NewReader(b))
	if err != nil || len(reports) != 1 {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	if r := reports[0]; !r.Partial || len(r.Tables[0].Rows) < 2 {
		t.Errorf("partial %v, %d rows", r.Partial, len(r.Tables[0].Rows))
	}
}

func TestMissedTargetsAreTheExitCode(t *testing.T) {
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	s := stdio{err: out}
	pass := &bench.Report{Targets: []bench.Target{{Name: "a", State: bench.Pass}, {Name: "b", State: bench.NotMeasured}}}
	if err := missed(s, []*bench.Report{pass}); err != nil {
		t.Errorf("all met: %v", err)
	}
	miss := &bench.Report{Targets: []bench.Target{{Name: "c", State: bench.Miss}, {Name: "d", State: bench.Miss}}}
	var code exitCode
	if err := missed(s, []*bench.Report{pass, miss}); !errors.As(err, &code) || code != exitMissed {
		t.Errorf("two missed: %v", err)
	}
	if b, _ := os.ReadFile(out.Name()); string(b) != "vmm: 2 targets missed: c, d\n" {
		t.Errorf("said %q", b)
	}
}

func TestReadersAreChosenByWordOrNumber(t *testing.T) {
	for text, want := range map[string]readerCount{
		"on": {flood: bench.ReadersOn}, "off": {flood: bench.ReadersOff}, "both": {flood: bench.ReadersBoth}, "7": {flood: bench.ReadersOn, count: 7},
	} {
		var r readerCount
		if err := r.UnmarshalText([]byte(text)); err != nil || r != want {
			t.Errorf("%q is %+v, %v", text, r, err)
		}
	}
	for _, text := range []string{"", "ON", "0", "-1", "1.5", "65"} {
		var r readerCount
		if err := r.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken as %+v", text, r)
		}
	}
}
