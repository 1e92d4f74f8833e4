// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestConsoleKeepsTheLastLines(t *testing.T) {
	var copied bytes.Buffer
	c := console{copy: &copied}
	for i := range consoleLines + 10 {
		fmt.Fprintf(&c, "line %d\r\n", i)
	}
	fmt.Fprint(&c, "unfinished")
	got := c.lines()
	if len(got) != consoleLines+1 || got[0] != "line 10" || got[consoleLines-1] != fmt.Sprintf("line %d", consoleLines+9) || got[consoleLines] != "unfinished" {
		t.Errorf("%d lines, first %q, last %q", len(got), got[0], got[len(got)-1])
	}
	if !strings.HasPrefix(copied.String(), "line 0\r\n") || !strings.HasSuffix(copied.String(), "unfinished") {
		t.Error("the copy isn't complete")
	}
}

func TestConsoleBoundsALine(t *testing.T) {
	var c console
	for range 100 {
		fmt.Fprint(&c, strings.Repeat("x", 1000))
	}
	fmt.Fprint(&c, "\nshort\n")
	got := c.lines()
	if len(got) != 2 || len(got[0]) != maxLine || got[1] != "short" {
		t.Errorf("%d lines, the first of %d bytes", len(got), len(got[0]))
	}
}

func TestCrashesAreRecognised(t *testing.T) {
	for line, fault := range map[string]bool{
		"[    3.00] Kernel panic - not syncing: sysrq triggered crash":                false,
		"[    9.35] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI":                          true,
		"[    1.00] BUG: unable to handle page fault for address: ffff":               false,
		"[    1.00] general protection fault, probably for non-canonical address 0x1": false,
	} {
		var c console
		// In pieces, as they come from a pipe.
		for _, p := range []string{"before\n", line[:20], line[20:] + "\n", "after\nKernel panic - not syncing: later\n"} {
			fmt.Fprint(&c, p)
		}
		if c.crashed() != line {
			t.Errorf("crash %q, want %q", c.crashed(), line)
		}
		e := &HostError{Doing: "run x", Crash: c.crashed(), Console: c.lines()}
		if e.EmulatorFault() != fault {
			t.Errorf("%s: the emulator's fault: %v", line, !fault)
		}
		if tail := e.Tail(10); !strings.Contains(tail, line) || !strings.Contains(tail, "after") {
			t.Errorf("tail %q", tail)
		}
	}
	var c console
	fmt.Fprint(&c, "all is well\n[ 1.0] systemd: Oops\n")
	if c.crashed() != "" {
		t.Errorf("crash %q", c.crashed())
	}
}

func TestTailIsBounded(t *testing.T) {
	e := &HostError{}
	for i := range 100 {
		e.Console = append(e.Console, fmt.Sprint(i))
	}
	if got := e.Tail(3); got != "  | 97\n  | 98\n  | 99\n" {
		t.Errorf("tail %q", got)
	}
}
