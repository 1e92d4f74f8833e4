// SPDX-License-Identifier: Apache-2.0

package mutation

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// mutants of the packages around gpc; test is what must catch them.
var mutants = []struct {
	name, pkg string
	edits     []Edit
	test      string
}{
	{
		"memory: unmapped without a grace period", "vmm/memory",
		[]Edit{{"tx.go", "	t.m.readers.domain.Synchronize()\n", ""}},
		"TestAccessAgainstUnmap|TestAChangeWaitsForAccessesInProgress",
	},
	{
		"memory: unmapped first", "vmm/memory",
		[]Edit{{"tx.go", "	for _, f := range t.commit {\n		f()\n	}\n	if t.view", "	for _, f := range t.cleanup {\n		_ = f()\n	}\n	t.cleanup = nil\n	for _, f := range t.commit {\n		f()\n	}\n	if t.view"}},
		"TestAccessAgainstUnmap|TestAChangeWaitsForAccessesInProgress",
	},
	{
		"memory: caches are not told", "vmm/memory",
		[]Edit{{"tx.go", "		for _, n := range t.m.notifiers {\n", "		for _, n := range t.m.notifiers[:0] {\n"}},
		"TestOrderOfATransaction",
	},
	{
		"memory: caches are not released", "vmm/memory",
		[]Edit{{"tx.go", "	for i := len(t.started) - 1; i >= 0; i-- {\n", "	for i := len(t.started) - 1; i >= 1; i-- {\n"}},
		"TestOrderOfATransaction|TestAFailedStepLeavesTheOldState",
	},
	{
		"memory: steps are undone first to last", "vmm/memory",
		[]Edit{{"tx.go", "		if err := t.undo[i](); err != nil {\n", "		if err := t.undo[len(t.undo)-1-i](); err != nil {\n"}},
		"TestStepsAreUndoneLastFirst",
	},
	{
		"memory: notifiers end inside the lock", "vmm/memory",
		[]Edit{{"tx.go", "	m.mu.Unlock()\n	t.end()\n", "	t.end()\n	m.mu.Unlock()\n"}},
		"TestTheEndOfATransactionIsOutsideTheLock",
	},
	{
		"vcpu: Pause does not wait", "vmm/vcpu",
		[]Edit{{"gate.go", "		for v.inside.Load() {\n", "		for v.inside.Load() && false {\n"}},
		"TestPauseReturnsOnlyWhenNobodyIsInTheGuest|TestPausesFromManyThreadsAtOnce",
	},
	{
		"vcpu: the gate is not looked at", "vmm/vcpu",
		[]Edit{{"vcpu.go", "	if v.group.gate.closed.Load() != 0 {\n", "	if false {\n"}},
		"TestPauseReturnsOnlyWhenNobodyIsInTheGuest|TestPausesFromManyThreadsAtOnce",
	},
	{
		"vcpu: a wake-up during the hypercall is forgotten", "vmm/vcpu",
		[]Edit{{"exit.go", "	case Wait:\n		v.waiting = true\n", "	case Wait:\n		v.woken.Store(false)\n		v.waiting = true\n"}},
		"TestWakeDuringTheHypercallIsNotLost",
	},
	{
		"vcpu: work for a parked thread waits for the gate", "vmm/vcpu",
		[]Edit{{"gate.go", "g.closed.Load() != 0 && !interrupted()", "g.closed.Load() != 0"}},
		"TestDoRunsOnThatThreadEvenWhilePaused",
	},
	{
		"irq: a dropped message is not owed", "vmm/irq",
		[]Edit{{"controller.go", "	} else {\n		c.owe(p)\n	}\n", "	}\n"}},
		"TestDroppedMessage",
	},
	{
		"irq: the line stays down after the EOI", "vmm/irq",
		[]Edit{{"controller.go", "	if c.cfg.Pending(0) {\n		c.assert()\n", "	if false {\n		c.assert()\n"}},
		"TestLineFollowsThePendingUpcallAcrossEOIs",
	},
	{
		"eventfd: a closed source still fires", "vmm/eventfd",
		[]Edit{{"waiter.go", "	if s.closed {\n		return\n	}\n	if n :=", "	if n :="}},
		"TestAFireUnderWayDoesNotReachAClosedSource",
	},
}

func TestMutantsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles and runs each mutant")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("compiling mutants needs the go command: ", err)
	}
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			overlay, err := Overlay("../../"+m.pkg, t.TempDir(), m.edits)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			// A mutant that hangs is caught by the test's own time limit. The count
			// gives one that is caught by chance more than one chance.
			out, err := exec.CommandContext(ctx, "go", "test", "-vet=off", "-overlay", overlay, "-count=3", "-timeout=10s",
				"-run", "^("+m.test+")", "../../"+m.pkg).CombinedOutput()
			text := string(out)
			switch {
			case err == nil:
				t.Fatalf("the mutant survived:\n%s", text)
			case strings.Contains(text, "[build failed]"):
				t.Fatalf("the mutant does not compile:\n%s", text)
			}
		})
	}
}

func TestAnEditMustFitExactlyOnce(t *testing.T) {
	for _, e := range []Edit{{"doc.go", "no such text anywhere", ""}, {"doc.go", "the", ""}, {"no-such-file.go", "x", ""}} {
		if _, err := Overlay(".", t.TempDir(), []Edit{e}); err == nil {
			t.Errorf("%+v was accepted", e)
		}
	}
}
