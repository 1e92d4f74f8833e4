// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"fmt"
	"testing"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// state is what a guest sees of one port and its vCPU.
type state struct {
	pending, sel, upcall bool
	calls                int64
}

func (g *rig) state(port uint32, vcpu int) state {
	return state{g.isPending(port), g.sel(vcpu, port), g.upcall(vcpu), g.upcalls[vcpu].Load()}
}

func TestEventSetsPendingThenSelectorThenUpcall(t *testing.T) {
	for _, guard := range gpc.Guards() {
		for _, w := range []abi.Width{abi.Width32, abi.Width64} {
			for _, port := range []uint32{1, 31, 32, 33, 63, 64, 1000, 1023} {
				t.Run(fmt.Sprintf("%s/%d-bit/port %d", guard, w.Bits(), port), func(t *testing.T) {
					g := newRig(t, 2, withGuard(guard))
					g.SetWidth(w)
					for range port {
						g.ok(g.BindIPI(1))
					}
					want(t, "send", g.Send(g.r, port), abi.OK)
					want(t, "state", g.state(port, 1), state{true, true, true, 1})
					if o := g.state(port, 0); o.sel || o.upcall || o.calls != 0 {
						t.Fatalf("other vCPU: %+v", o)
					}
					// Exactly these bits and no others.
					n := 0
					for _, b := range g.mem.bytes(sharedPg) {
						for ; b != 0; b &= b - 1 {
							n++
						}
					}
					want(t, "bits set in the page", n, 3)
				})
			}
		}
	}
}

func TestUpcallOnlyWhenTheFlagGoesFromZeroToOne(t *testing.T) {
	g := newRig(t, 1)
	a, b, far := g.ok(g.BindIPI(0)), g.ok(g.BindIPI(0)), uint32(0)
	for far = 0; far < 100; far = g.ok(g.BindIPI(0)) {
	}
	g.Send(g.r, a)
	want(t, "first", g.upcalls[0].Load(), 1)
	g.Send(g.r, a)
	want(t, "coalesced", g.upcalls[0].Load(), 1)
	g.Send(g.r, b)
	want(t, "selector was set", g.upcalls[0].Load(), 1)
	g.Send(g.r, far)
	want(t, "flag was set", g.upcalls[0].Load(), 1)
	want(t, "selector of the other word", g.sel(0, far), true)

	g.ack(0)
	g.Send(g.r, a)
	want(t, "still pending", g.upcalls[0].Load(), 1)
	g.takePending(a)
	g.Send(g.r, a)
	want(t, "taken and sent again", g.upcalls[0].Load(), 2)
}

func TestMaskedEventWaitsForUnmask(t *testing.T) {
	g := newRig(t, 2)
	p := g.ok(g.BindIPI(1))
	g.mask(p)
	want(t, "send", g.Send(g.r, p), abi.OK)
	want(t, "masked", g.state(p, 1), state{pending: true})
	want(t, "unmask", g.Unmask(g.r, 0, p), abi.OK)
	want(t, "unmasked", g.state(p, 1), state{true, true, true, 1})
	want(t, "mask bit", g.isMasked(p), false)
	g.ack(1)
	want(t, "unmask again", g.Unmask(g.r, 0, p), abi.OK)
	want(t, "a port that is not masked is not sent again", g.state(p, 1), state{pending: true, calls: 1})
}

func TestUnmaskWithoutEventIsSilent(t *testing.T) {
	g := newRig(t, 1)
	p := g.ok(g.BindIPI(0))
	g.mask(p)
	want(t, "unmask", g.Unmask(g.r, 0, p), abi.OK)
	want(t, "state", g.state(p, 0), state{})
	want(t, "mask bit", g.isMasked(p), false)
}

func TestUnmaskOfClosedPortLeavesTheMask(t *testing.T) {
	g := newRig(t, 1)
	g.mask(5)
	want(t, "unmask", g.Unmask(g.r, 0, 5), abi.OK)
	want(t, "mask bit", g.isMasked(5), true)
}

func TestNewPortGoesToVCPU0(t *testing.T) {
	g := newRig(t, 2)
	h := g.host(nil)
	want(t, "result", h.Notify(g.r), gpc.Raised)
	want(t, "vCPU 0", g.state(h.Port(), 0), state{true, true, true, 1})
	want(t, "vCPU 1", g.upcalls[1].Load(), 0)
}

func TestBindVCPUMovesLaterEventsOnly(t *testing.T) {
	g := newRig(t, 2)
	h := g.host(nil)
	h.Notify(g.r)
	want(t, "bind_vcpu", g.BindVCPU(h.Port(), 1), abi.OK)
	want(t, "pending event is not sent again", g.upcalls[1].Load(), 0)
	g.takePending(h.Port())
	want(t, "next event", h.Notify(g.r), gpc.Raised)
	want(t, "new vCPU", g.upcalls[1].Load(), 1)
	want(t, "old vCPU", g.upcalls[0].Load(), 1)

	// What Linux does: mask, bind, unmask; the event follows.
	g.ack(1)
	g.mask(h.Port())
	g.BindVCPU(h.Port(), 0)
	g.ack(0)
	g.Unmask(g.r, 0, h.Port())
	want(t, "after unmask", g.state(h.Port(), 0), state{true, true, true, 2})
}

func TestEventBeforeTheGuestHasAHandlerStaysPending(t *testing.T) {
	g := newRig(t, 1)
	h := g.host(nil)
	g.mask(h.Port()) // as all ports are while a guest boots
	want(t, "notify", h.Notify(g.r), gpc.Masked)
	want(t, "again", h.Notify(g.r), gpc.Coalesced)
	want(t, "waiting", g.state(h.Port(), 0), state{pending: true})
	g.Unmask(g.r, 0, h.Port())
	want(t, "handled", g.state(h.Port(), 0), state{true, true, true, 1})
}

func TestUpcallMaskIsIgnored(t *testing.T) {
	g := newRig(t, 1)
	g.mem.bytes(sharedPg)[abi.VCPUInfoUpcallMask] = 1
	g.Send(g.r, g.ok(g.BindIPI(0)))
	want(t, "upcalls", g.upcalls[0].Load(), 1)
}

func TestCloseClearsPendingAndLeavesMask(t *testing.T) {
	g := newRig(t, 1)
	p := g.ok(g.BindIPI(0))
	g.mask(p)
	g.Send(g.r, p)
	g.ClosePort(p)
	want(t, "pending", g.isPending(p), false)
	want(t, "mask", g.isMasked(p), true)
	want(t, "same port", g.ok(g.AllocUnbound(self, 0)), p)
	want(t, "pending of the new port", g.isPending(p), false)
}

func TestLoopbackSendsToThePeersVCPU(t *testing.T) {
	g := newRig(t, 2)
	a := g.ok(g.AllocUnbound(self, self))
	g.BindVCPU(a, 1)
	b := g.ok(g.BindInterdomain(g.r, 0, self, a))
	want(t, "binder's port is pending", g.state(b, 0), state{true, true, true, 1})
	want(t, "the other is not", g.isPending(a), false)
	g.ack(0)
	g.takePending(b)

	want(t, "send on b", g.Send(g.r, b), abi.OK)
	want(t, "a got it, where it was bound before", g.state(a, 1), state{true, true, true, 1})
	want(t, "send on a", g.Send(g.r, a), abi.OK)
	want(t, "b got it", g.state(b, 0), state{true, true, true, 2})

	want(t, "close b", g.ClosePort(b), abi.OK)
	st, _ := g.Status(self, a)
	want(t, "a is unbound, for us, on its vCPU", st, Status{State: abi.EvtchnStatUnbound, VCPU: 1, Dom: domain})
	want(t, "sending on it", g.Send(g.r, a), abi.OK)
	want(t, "a can be bound to again", g.ok(g.BindInterdomain(g.r, 0, domain, a)), b)
}

func TestVIRQGoesToItsVCPU(t *testing.T) {
	g := newRig(t, 3)
	g.RaiseVIRQ(g.r, abi.VIRQTimer, 1) // unbound: dropped
	p0, p1 := g.ok(g.BindVIRQ(abi.VIRQTimer, 0)), g.ok(g.BindVIRQ(abi.VIRQTimer, 1))
	argo := g.ok(g.BindVIRQ(abi.VIRQArgo, 0))
	g.BindVCPU(argo, 2)

	g.RaiseVIRQ(g.r, abi.VIRQTimer, 1)
	want(t, "vCPU 1", g.state(p1, 1), state{true, true, true, 1})
	want(t, "vCPU 0", g.state(p0, 0), state{})
	g.RaiseVIRQ(g.r, abi.VIRQArgo, 1)
	want(t, "global", g.state(argo, 2), state{true, true, true, 1})

	want(t, "close of the moved global", g.ClosePort(argo), abi.OK)
	want(t, "bind again", g.ok(g.BindVIRQ(abi.VIRQArgo, 0)), argo)

	for _, bad := range []struct {
		virq uint32
		vcpu int
	}{{24, 0}, {1 << 31, 0}, {0, -1}, {0, 3}, {0, 1 << 40}} {
		g.RaiseVIRQ(g.r, bad.virq, bad.vcpu)
	}
}

func TestPIRQGoesWhereItIsBound(t *testing.T) {
	g := newRig(t, 2, withPIRQs(32))
	want(t, "unbound", g.RaisePIRQ(g.r, 20), false)
	p := g.ok(g.BindPIRQ(20, 0))
	g.BindVCPU(p, 1)
	want(t, "bound", g.RaisePIRQ(g.r, 20), true)
	want(t, "vCPU 1", g.state(p, 1), state{true, true, true, 1})
	g.ClosePort(p)
	want(t, "closed", g.RaisePIRQ(g.r, 20), false)
	want(t, "out of range", g.RaisePIRQ(g.r, 32), false)
	want(t, "huge", g.RaisePIRQ(g.r, 1<<31), false)
}

func TestWidthSwitchMovesTheBits(t *testing.T) {
	g := newRig(t, 1)
	for range 1500 {
		g.ok(g.BindIPI(0))
	}
	g.SetWidth(abi.Width32)
	want(t, "width", g.Width(), abi.Width32)
	g.Send(g.r, 40)
	want(t, "32-bit", g.state(40, 0), state{true, true, true, 1})
	want(t, "beyond the limit", g.ClosePort(1024), abi.EINVAL)
	g.ack(0)
	g.SetWidth(abi.Width64)
	want(t, "back", g.Send(g.r, 1500), abi.OK)
	want(t, "64-bit", g.state(1500, 0), state{true, true, true, 2})
}

func TestEventBeyondTheLimitWaitsForTheWidth(t *testing.T) {
	g := newRig(t, 1)
	for range 1100 {
		g.ok(g.BindIPI(0))
	}
	h := g.host(nil)
	g.SetWidth(abi.Width32)
	want(t, "result", h.Notify(g.r), gpc.Stale)
	before := string(g.mem.bytes(sharedPg))
	want(t, "memory untouched", string(g.mem.bytes(sharedPg)), before)
	g.SetWidth(abi.Width64)
	want(t, "delivered", g.state(h.Port(), 0), state{true, true, true, 1})
}

// All of these work while the table's lock is held: none of them takes it.
func TestSendTakesNoLock(t *testing.T) {
	g := newRig(t, 2)
	ipi := g.ok(g.BindIPI(1))
	g.ok(g.BindVIRQ(abi.VIRQTimer, 0))
	h := g.host(nil)
	g.Table.mu.Lock()
	g.Send(g.r, ipi)
	g.RaiseVIRQ(g.r, abi.VIRQTimer, 0)
	h.Notify(g.r)
	g.Unmask(g.r, 0, ipi)
	g.Table.mu.Unlock()
}

func BenchmarkSend(b *testing.B) {
	for _, guard := range gpc.Guards() {
		b.Run(guard+"/raised", func(b *testing.B) {
			g := newRig(b, 1, withGuard(guard))
			p := g.ok(g.BindIPI(0))
			b.ReportAllocs()
			for b.Loop() {
				g.Send(g.r, p)
				g.takePending(p)
				g.ack(0)
			}
		})
		b.Run(guard+"/coalesced", func(b *testing.B) {
			g := newRig(b, 1, withGuard(guard))
			h := g.host(nil)
			b.ReportAllocs()
			for b.Loop() {
				h.Notify(g.r)
			}
		})
	}
}
