// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"testing"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// halfway is the 2-level ABI whose memory goes away, each time, when the first
// bit of an event has been changed and the second has not been looked at.
type halfway struct {
	delivery
	shared *gpc.Cache
	after  func() // runs at that moment
}

func newHalfway(g *rig, after func()) {
	l := newTwoLevel(g.Table, abi.Width64)
	g.Table.mu.Lock()
	defer g.Table.mu.Unlock()
	g.useABI(&halfway{l, l.shared, after})
}

func (h *halfway) raise(r *gpc.Reader, e *entry) gpc.Result {
	bits, ok := r.Or32(h.shared, e.signal.Pending.Off, 1<<e.signal.Pending.Bit)
	if !ok {
		return gpc.Stale
	}
	if bits>>e.signal.Pending.Bit&1 != 0 {
		return gpc.Coalesced
	}
	h.after()
	return gpc.StalePort
}

func (h *halfway) unmask(r *gpc.Reader, e *entry) gpc.Result {
	bits, ok := r.And32(h.shared, e.signal.Mask.Off, ^uint32(1<<e.signal.Mask.Bit))
	if !ok {
		return gpc.Stale
	}
	if bits>>e.signal.Mask.Bit&1 == 0 {
		return gpc.NotPending
	}
	h.after()
	return gpc.StalePort
}

func TestAnEventThatMemoryWentAwayUnderHalfwayIsFinished(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(g *rig, p uint32)
		do     func(g *rig, p uint32)
		after  func(g *rig, p uint32) // while it is halfway
		want   state
	}{
		{name: "send", do: func(g *rig, p uint32) { g.Send(g.r, p) }, want: state{true, true, true, 1}},
		{name: "send to a masked port", before: (*rig).mask, do: func(g *rig, p uint32) { g.Send(g.r, p) }, want: state{pending: true}},
		{name: "send to a port that is masked meanwhile", after: (*rig).mask, do: func(g *rig, p uint32) { g.Send(g.r, p) }, want: state{pending: true}},
		{name: "send, and the guest takes it", after: func(g *rig, p uint32) { g.takePending(p) }, do: func(g *rig, p uint32) { g.Send(g.r, p) }},
		{name: "unmask of an idle port", before: (*rig).mask, do: func(g *rig, p uint32) { g.Unmask(g.r, 0, p) }},
		{name: "unmask of a pending port",
			before: func(g *rig, p uint32) { g.mask(p); g.mem.orBit(sharedPg, 0x800, p) },
			do:     func(g *rig, p uint32) { g.Unmask(g.r, 0, p) }, want: state{true, true, true, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newRig(t, 1)
			p := g.ok(g.BindIPI(0))
			if tt.before != nil {
				tt.before(g, p)
			}
			newHalfway(g, func() {
				if tt.after != nil {
					tt.after(g, p)
				}
				g.mem.change(sharedGFN, -1)
				g.mem.change(sharedGFN, sharedPg)
			})
			tt.do(g, p)
			want(t, "state", g.state(p, 0), tt.want)
			want(t, "waiting", g.Stats().Waiting, false)
		})
	}
}

func TestAnEventWhoseMemoryStaysAwayHalfwayIsReplayed(t *testing.T) {
	for name, do := range map[string]func(g *rig, p uint32){
		"send":   func(g *rig, p uint32) { g.Send(g.r, p) },
		"unmask": func(g *rig, p uint32) { g.mask(p); g.mem.orBit(sharedPg, 0x800, p); g.Unmask(g.r, 0, p) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, 1)
			p := g.ok(g.BindIPI(0))
			newHalfway(g, func() { g.mem.change(sharedGFN, -1) })
			called := make(chan struct{}, 1)
			g.onUp = func(int) { called <- struct{}{} }
			do(g, p)
			want(t, "waiting", g.Stats().Waiting, true)
			want(t, "upcalls before memory is back", g.upcalls[0].Load(), 0)
			g.mem.change(sharedGFN, sharedPg)
			await(t, "upcall", called)
			want(t, "state", g.state(p, 0), state{true, true, true, 1})
		})
	}
}

// The selector bit is set and the upcall is not, when the vcpu_info goes away.
// Whoever finishes the event must not take the bit for another sender's.
func TestAnEventThatMemoryWentAwayUnderBeforeTheUpcallIsFinished(t *testing.T) {
	g := newRig(t, 1)
	p := g.ok(g.BindIPI(0))
	e := g.slots[p].entry.Load()
	g.mem.orBit(sharedPg, 0x800, p)
	g.mem.orBit(sharedPg, 8, p/64)
	want(t, "result", g.reach(g.r, e, gpc.StaleVCPU), gpc.Raised)
	want(t, "state", g.state(p, 0), state{true, true, true, 1})
}
