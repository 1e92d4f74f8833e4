// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"sync/atomic"
	"testing"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// double is the 2-level ABI with memory that goes stale again and again, and a
// look at when bits are cleared.
type double struct {
	delivery
	stale   atomic.Int64 // how often raise, unmask and mark find stale memory
	cleared func(port uint32)
}

func newDouble(g *rig) *double {
	d := &double{delivery: newTwoLevel(g.Table, abi.Width64)}
	g.Table.mu.Lock()
	defer g.Table.mu.Unlock()
	g.useABI(d)
	return d
}

func (d *double) raise(r *gpc.Reader, e *entry) gpc.Result {
	if d.stale.Add(-1) >= 0 {
		return gpc.Stale
	}
	return d.delivery.raise(r, e)
}

func (d *double) unmask(r *gpc.Reader, e *entry) gpc.Result {
	if d.stale.Add(-1) >= 0 {
		return gpc.Stale
	}
	return d.delivery.unmask(r, e)
}

func (d *double) mark(r *gpc.Reader, vcpu int) bool {
	return d.stale.Add(-1) < 0 && d.delivery.mark(r, vcpu)
}

func (d *double) clear(r *gpc.Reader, port uint32) bool {
	if d.cleared != nil {
		d.cleared(port)
	}
	return d.stale.Add(-1) < 0 && d.delivery.clear(r, port)
}

// A sender gives up on memory that does not keep still; since it is there, no
// restore hook is to be expected, and the replayer keeps trying.
func TestMemoryThatIsThereButNeverValidForLong(t *testing.T) {
	for name, f := range map[string]func(g *rig, p uint32){
		"send":     func(g *rig, p uint32) { g.Send(g.r, p) },
		"unmask":   func(g *rig, p uint32) { g.mask(p); g.mem.orBit(sharedPg, 0x800, p); g.Unmask(g.r, 0, p) },
		"register": func(g *rig, p uint32) { g.RegisterVCPUInfo(g.r, 0, ramAt) },
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, 1)
			p := g.ok(g.BindIPI(0))
			d := newDouble(g)
			d.stale.Store(10 * maxTries)
			called := make(chan struct{}, 10)
			g.onUp = func(int) { called <- struct{}{} }
			f(g, p)
			await(t, "upcall", called)
		})
	}
}

func TestPendingIsClearedOnlyAfterThePortIsClosed(t *testing.T) {
	g := newRig(t, 1)
	d := newDouble(g)
	p := g.ok(g.BindIPI(0))
	n := 0
	d.cleared = func(port uint32) {
		n++
		if g.slots[port].entry.Load() != nil {
			t.Error("cleared while senders could still use the port")
		}
	}
	g.ClosePort(p)
	want(t, "clears", n, 1)
}

func TestPortIsNotGivenOutBeforeItsPendingBitIsClear(t *testing.T) {
	g := newRig(t, 1)
	d := newDouble(g)
	p := g.ok(g.BindIPI(0))
	d.stale.Store(1 << 40)
	g.ClosePort(p)
	if next := g.ok(g.BindIPI(0)); next == p {
		t.Fatal("given out")
	}
	d.stale.Store(0)
	want(t, "lowest free port", g.ok(g.BindIPI(0)), p)
}
