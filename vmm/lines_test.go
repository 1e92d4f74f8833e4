// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTailKeepsTheLastLinesInOrder(t *testing.T) {
	var seen []string
	h := &history{watch: func(s string) { seen = append(seen, s) }}
	var out strings.Builder
	a, b := h.stream(&out), h.stream(io.Discard)
	for i := range 100 {
		fmt.Fprint(a, "li")
		fmt.Fprint(b, "other")
		fmt.Fprintf(a, "ne %d\r\n", i)
	}
	fmt.Fprint(a, "unfin")
	fmt.Fprint(a, "ished\x1b[2J")
	got := h.Lines()
	if len(got) != tailLines+2 || got[0] != "line 60" || got[tailLines-1] != "line 99" || got[tailLines] != "unfinished.[2J" {
		t.Errorf("kept %q", got)
	}
	if !strings.HasPrefix(out.String(), "line 0\r\nline 1\r\n") {
		t.Errorf("passed on %q", out.String())
	}
	if len(seen) != 100 {
		t.Errorf("watcher saw %d lines, want 100", len(seen))
	}
}

func TestTailDoesNotGrowWithTheGuestsOutput(t *testing.T) {
	h := &history{}
	w := h.stream(io.Discard)
	long := []byte(strings.Repeat("x", 1<<20))
	_, _ = w.Write(long)
	if got := h.Lines(); len(got) != 1 || len(got[0]) != tailLineBytes {
		t.Errorf("%d bytes kept of an endless line, want %d", len(got[0]), tailLineBytes)
	}
	_, _ = w.Write(long)
	if got := h.Lines(); len(got) != 1 || len(got[0]) != tailLineBytes {
		t.Errorf("%d lines, %d bytes kept when the line went on", len(got), len(got[0]))
	}
}

func TestLostOutputIsToldOnce(t *testing.T) {
	full := errors.New("no space")
	told := 0
	h := &history{lost: func(err error) {
		if told++; !errors.Is(err, full) {
			t.Errorf("told %v", err)
		}
	}}
	w := h.stream(failing{full})
	for range 3 {
		if _, err := w.Write([]byte("line\n")); !errors.Is(err, full) {
			t.Errorf("write: %v", err)
		}
	}
	if told != 1 || len(h.Lines()) != 3 {
		t.Errorf("told %d times, kept %d lines; want 1 and 3", told, len(h.Lines()))
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestVerdictsAreRecognised(t *testing.T) {
	for line, want := range map[string]*Verdict{
		"VERDICT boot PASS":              {Name: "boot", Result: Pass},
		"VERDICT x FAIL exception 13 at": {Name: "x", Result: Fail, Reason: "exception 13 at"},
		"VERDICT x SKIP not a Xen guest": {Name: "x", Result: Skip, Reason: "not a Xen guest"},
		"VERDICT  PASS":                  nil,
		"VERDICT x":                      nil,
		"VERDICT x passed":               nil,
		" VERDICT x PASS":                nil,
		"":                               nil,
	} {
		got, ok := ParseVerdict(line)
		if (want != nil) != ok {
			t.Errorf("%q: verdict %v, want %v", line, ok, want != nil)
		} else if ok {
			if diff := cmp.Diff(*want, got); diff != "" {
				t.Errorf("%q: %s", line, diff)
			}
		}
	}
}
