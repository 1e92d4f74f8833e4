// SPDX-License-Identifier: Apache-2.0

package nested

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// event is a line of `go test -json` (go doc test2json).
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

// result is one top-level test with all its subtests.
type result struct {
	pkg, test string
	action    string // pass, fail or skip
	elapsed   float64
	output    string
	skipped   map[string]string // subtests (or the test itself) by name: why
}

// results reads events and calls do for each top-level test as it ends, and for
// each package that failed outside of its tests. What is no event, a compiler's
// message, say, is part of the next package's failure.
func results(r io.Reader, do func(result)) error {
	open := map[string]*result{}
	var loose strings.Builder
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(&loose, lines.Text())
			continue
		}
		top, _, sub := strings.Cut(e.Test, "/")
		key := e.Package + " " + top
		o := open[key]
		if o == nil {
			o = &result{pkg: e.Package, test: top, skipped: map[string]string{}}
			open[key] = o
		}
		switch e.Action {
		case "output", "build-output":
			o.output += e.Output
		case "skip":
			if e.Test != "" {
				o.skipped[e.Test] = lastReason(o.output)
			}
		}
		if sub || e.Action != "pass" && e.Action != "fail" && e.Action != "skip" && e.Action != "build-fail" {
			continue
		}
		delete(open, key)
		o.action, o.elapsed = strings.TrimPrefix(e.Action, "build-"), e.Elapsed
		if o.test != "" {
			do(*o)
			continue
		}
		if o.action == "fail" {
			o.output = loose.String() + o.output
			loose.Reset()
			do(*o)
		}
	}
	for _, o := range open { // cut off: the test never ended
		if o.test != "" {
			o.action = "fail"
			o.output += "(cut off)\n"
			do(*o)
		}
	}
	return lines.Err()
}

// lastReason is what a test said before it was skipped.
func lastReason(output string) string {
	var reason string
	for l := range strings.Lines(output) {
		l = strings.TrimSpace(l)
		if l != "" && !strings.HasPrefix(l, "---") && !strings.HasPrefix(l, "===") {
			reason = l
		}
	}
	return reason
}
