// SPDX-License-Identifier: Apache-2.0

//go:build !race

// The race detector allocates on its own account.

package evtchn

import (
	"testing"

	"xenvmm/xenshim/abi"
)

func TestSendAllocatesNothing(t *testing.T) {
	g := newRig(t, 2)
	ipi := g.ok(g.BindIPI(1))
	virq := g.ok(g.BindVIRQ(abi.VIRQTimer, 0))
	calls := 0
	h := g.host(func() { calls++ })
	loop := g.ok(g.BindInterdomain(g.r, 0, self, g.ok(g.AllocUnbound(self, self))))
	for name, f := range map[string]func(){
		"ipi":     func() { g.Send(g.r, ipi); g.takePending(ipi); g.ack(1) },
		"virq":    func() { g.RaiseVIRQ(g.r, abi.VIRQTimer, 0); g.takePending(virq); g.ack(0) },
		"notify":  func() { h.Notify(g.r); g.takePending(h.Port()); g.ack(0) },
		"backend": func() { g.Send(g.r, h.Port()) },
		"loop":    func() { g.Send(g.r, loop) },
		"unmask":  func() { g.Unmask(g.r, 0, ipi) },
		"poll":    func() { g.PollStart(0, nil); g.AnyPending(g.r, []uint32{1}); g.PollEnd(0) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestPollAllocatesNothing(t *testing.T) {
	g := newRig(t, 1)
	if n := testing.AllocsPerRun(100, func() {
		g.PollStart(0, nil)
		g.PollEnd(0)
	}); n != 0 {
		t.Fatalf("%v allocations per poll", n)
	}
}
