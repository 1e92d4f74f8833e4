// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"testing"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// sources are all that sends events to a guest. Each opens a port that is bound
// to vCPU 1 and returns its number and how the event is sent.
var sources = map[string]func(g *rig) (port uint32, send func()){
	"host port": func(g *rig) (uint32, func()) {
		h := g.host(nil)
		g.bind(h.Port(), 1)
		return h.Port(), func() { h.Notify(g.r) }
	},
	"interdomain": func(g *rig) (uint32, func()) {
		remote, e := g.AllocUnbound(abi.DomIDSelf, abi.DomIDSelf)
		g.ok(remote, e)
		local := g.ok(g.BindInterdomain(g.r, 0, abi.DomIDSelf, remote))
		g.bind(remote, 1)
		return remote, func() { want(g.t, "send", g.Send(g.r, local), abi.OK) }
	},
	"timer VIRQ": func(g *rig) (uint32, func()) {
		p := g.ok(g.BindVIRQ(abi.VIRQTimer, 1))
		return p, func() { g.RaiseVIRQ(g.r, abi.VIRQTimer, 1) }
	},
	"global VIRQ": func(g *rig) (uint32, func()) {
		p := g.ok(g.BindVIRQ(abi.VIRQConsole, 0))
		g.bind(p, 1)
		return p, func() { g.RaiseVIRQ(g.r, abi.VIRQConsole, 0) }
	},
	"IPI": func(g *rig) (uint32, func()) {
		p := g.ok(g.BindIPI(1))
		return p, func() { want(g.t, "send", g.Send(g.r, p), abi.OK) }
	},
	"PIRQ": func(g *rig) (uint32, func()) {
		p := g.ok(g.BindPIRQ(17, 0))
		g.bind(p, 1)
		return p, func() { g.RaisePIRQ(g.r, 17) }
	},
}

func (g *rig) bind(port, vcpu uint32) {
	want(g.t, "bind_vcpu", g.BindVCPU(port, vcpu), abi.OK)
}

// An event that is sent while memory is away arrives when it is back, whoever
// sends it: while shared_info is away with the vcpu_info in it, or one of them
// alone; and a second one that follows at once is not lost either.
func TestEventsOfEverySourceOutlastAWindowWithoutMemory(t *testing.T) {
	for name, open := range sources {
		for _, c := range []struct {
			what       string
			registered bool // vcpu_info 1 lies in a frame of its own
			away       []uint64
		}{
			{"shared_info with the vcpu_info in it", false, []uint64{sharedGFN}},
			{"shared_info alone", true, []uint64{sharedGFN}},
			{"vcpu_info alone", true, []uint64{ramAt / pageSize}},
			{"both", true, []uint64{sharedGFN, ramAt / pageSize}},
			{"both, the other way", true, []uint64{ramAt / pageSize, sharedGFN}},
		} {
			t.Run(name+"/"+c.what, func(t *testing.T) {
				for _, guard := range gpc.Guards() {
					g := newRig(t, 2, withPIRQs(32), withGuard(guard))
					page, at := sharedPg, uint32(64)
					if c.registered {
						want(t, "register", g.RegisterVCPUInfo(g.r, 1, ramAt), abi.OK)
						page, at = ramPg, 0
					}
					port, send := open(g)
					takeAll := func() (upcall, sel, pending bool) {
						upcall = g.mem.word(page, at).Swap(0)&0xff != 0
						sel = g.mem.word(page, at+8).Swap(0)|g.mem.word(page, at+12).Swap(0) != 0
						return upcall, sel, g.takePending(port)
					}
					takeAll()
					g.settle()
					called := make(chan struct{}, 1)
					g.onUp = func(vcpu int) {
						if vcpu == 1 {
							select {
							case called <- struct{}{}:
							default:
							}
						}
					}
					for range 3 {
						for _, gfn := range c.away {
							g.mem.change(gfn, -1)
						}
						send()
						send()
						want(t, "upcalls while memory is away", len(called), 0)
						for _, gfn := range c.away {
							p := sharedPg
							if gfn != sharedGFN {
								p = ramPg
							}
							g.mem.change(gfn, p)
						}
						await(t, guard+": upcall", called)
						upcall, sel, pending := takeAll()
						want(t, "upcall_pending", upcall, true)
						want(t, "selector", sel, true)
						want(t, "pending", pending, true)
						g.settle()
						want(t, "waiting", g.Stats().Waiting, false)
						takeAll() // what the replayer may have sent once more
						select {
						case <-called:
						default:
						}
					}
				}
			})
		}
	}
}
