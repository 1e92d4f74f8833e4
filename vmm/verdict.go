// SPDX-License-Identifier: Apache-2.0

package vmm

import "strings"

// Verdict is the last word of a guest test: a console line of the form
//
//	VERDICT name PASS|FAIL|SKIP reason
type Verdict struct {
	Name   string `json:"name"`
	Result string `json:"result"` // "PASS", "FAIL" or "SKIP"
	Reason string `json:"reason,omitempty"`
}

// Results of a Verdict.
const (
	Pass = "PASS"
	Fail = "FAIL"
	Skip = "SKIP"
)

// ParseVerdict reads a console line; ok is false if it is not a verdict.
func ParseVerdict(line string) (v Verdict, ok bool) {
	rest, ok := strings.CutPrefix(line, "VERDICT ")
	if !ok {
		return Verdict{}, false
	}
	name, rest, _ := strings.Cut(rest, " ")
	result, reason, _ := strings.Cut(rest, " ")
	switch result {
	case Pass, Fail, Skip:
	default:
		return Verdict{}, false
	}
	return Verdict{Name: name, Result: result, Reason: strings.TrimSpace(reason)}, name != ""
}
