// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"xenvmm/gpc"
	"xenvmm/gpc/srcu"
	"xenvmm/gpc/srcu/rseq"
)

func TestDoctorSaysHowGracePeriodsWaitAndWhatWouldBeBetter(t *testing.T) {
	for _, tt := range []struct {
		name string
		mode srcu.Wait
		err  error
		want string
	}{
		{"restarting", srcu.WaitRseq, nil, "ok grace periods rseq"},
		{"a filter", srcu.WaitFutex, &rseq.Error{Call: "rseq(2)", Cause: syscall.EPERM, Remedy: "permit it"},
			"missing grace periods changes of guest memory that do not wait for a descheduled thread: wait policy is futex: rseq(2): operation not permitted; permit it"},
		{"anything else", srcu.WaitFutex, errors.New("range 3 is incomplete"),
			"missing grace periods changes of guest memory that do not wait for a descheduled thread: wait policy is futex: range 3 is incomplete; report this as a fault of the program"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			if err := printFindings(&out, []finding{gracePeriods(tt.mode, tt.err)}, true); err != nil {
				t.Fatal(err)
			}
			line, _, _ := strings.Cut(out.String(), "\n")
			if got := strings.Join(strings.Fields(line), " "); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
	if f := gracePeriods(gpc.WaitPolicy()); f.State == stateNeeded {
		t.Error("guests run without")
	}
}
