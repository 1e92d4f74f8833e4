// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// threads runs each f with a reader of its own, all at once.
func (g *rig) threads(fs ...func(r *gpc.Reader)) {
	var wg sync.WaitGroup
	for _, f := range fs {
		wg.Go(func() {
			r := g.mem.set.NewReader()
			defer r.Close()
			f(r)
		})
	}
	wg.Wait()
}

func TestResetRacesWithOpens(t *testing.T) {
	g := newRig(t, 2)
	g.threads(
		func(r *gpc.Reader) {
			for range 200 {
				if e := g.Reset(r, self); e != abi.OK {
					t.Errorf("reset: %v", e)
				}
			}
		},
		func(r *gpc.Reader) {
			for range 5000 {
				if _, e := g.AllocUnbound(self, self); e != abi.OK && e != abi.ENOSPC {
					t.Errorf("alloc_unbound: %v", e)
				}
				if _, e := g.BindVIRQ(abi.VIRQTimer, 1); e != abi.OK && e != abi.EEXIST {
					t.Errorf("bind_virq: %v", e)
				}
			}
		},
		func(r *gpc.Reader) {
			for i := range 5000 {
				port := uint32(i % 16)
				g.Send(r, port)
				g.BindInterdomain(r, 0, self, port)
				g.BindVCPU(port, uint32(i%2))
				g.Unmask(r, 0, port)
				g.RaiseVIRQ(r, abi.VIRQTimer, 1)
			}
		},
		func(r *gpc.Reader) {
			for range 500 {
				h, err := g.BindHost(nil)
				if err != nil {
					continue
				}
				h.Notify(r)
				g.Send(r, h.Port())
				h.Close()
			}
		},
	)
	g.Reset(g.r, self)
	g.kept.replay()
	want(t, "open ports", g.Stats().Ports, 0)
	for port := range uint32(maxPorts) {
		st, e := g.Status(self, port)
		if e != abi.OK || st.State != abi.EvtchnStatClosed {
			t.Fatalf("port %d: %+v %v", port, st, e)
		}
		if g.isPending(port) {
			t.Fatalf("port %d is closed and pending", port)
		}
	}
	want(t, "timer can be bound", g.ok(g.BindVIRQ(abi.VIRQTimer, 1)), 1)
	for i, h := range g.hosts {
		if h != nil {
			t.Fatalf("host port %d was left", i)
		}
	}
}

// A reset of a full table is short work, and senders need not wait for it.
func TestResetOfAFullTableIsQuick(t *testing.T) {
	g := newRig(t, 2)
	g.fill()
	start := time.Now()
	want(t, "reset", g.Reset(g.r, self), abi.OK)
	if d := time.Since(start); d > time.Second {
		t.Fatalf("closing %d ports took %v", maxPorts-1, d)
	}
	want(t, "open ports", g.Stats().Ports, 0)
}

// A sender that is slower than a close must not leave an event to whoever gets
// the port next.
func TestCloseRacesWithSends(t *testing.T) {
	g := newRig(t, 1)
	stop := make(chan struct{})
	var senders sync.WaitGroup
	for range 2 {
		senders.Go(func() {
			r := g.mem.set.NewReader()
			defer r.Close()
			for {
				select {
				case <-stop:
					return
				default:
					g.Send(r, 1)
				}
			}
		})
	}
	for range 3000 {
		g.ok(g.BindIPI(0))
		runtime.Gosched()
		for p := uint32(1); p < 4; p++ {
			g.ClosePort(p)
		}
	}
	close(stop)
	senders.Wait()
	g.kept.replay()
	for p := uint32(1); p < 4; p++ {
		want(t, "pending", g.isPending(p), false)
	}
}

// overtake runs a change of a port between the moment a sender has read the
// port's entry and the moment it uses it.
func (g *rig) overtake(port uint32, change func()) {
	e := g.slots[port].entry.Load()
	change()
	g.raise(g.r, e)
	g.kept.replay()
}

func TestSenderOvertakenByAChange(t *testing.T) {
	t.Run("close", func(t *testing.T) {
		g := newRig(t, 1)
		p := g.ok(g.BindIPI(0))
		g.overtake(p, func() { g.ClosePort(p) })
		want(t, "pending", g.isPending(p), false)
		want(t, "port is free", g.ok(g.BindIPI(0)), p)
	})
	t.Run("bind_vcpu and unmask", func(t *testing.T) {
		g := newRig(t, 2)
		h := g.host(nil)
		g.mask(h.Port())
		g.overtake(h.Port(), func() {
			g.BindVCPU(h.Port(), 1)
			g.Unmask(g.r, 1, h.Port())
		})
		want(t, "the new vCPU knows", g.state(h.Port(), 1), state{true, true, true, 1})
	})
	t.Run("width", func(t *testing.T) {
		g := newRig(t, 1)
		p := g.ok(g.BindIPI(0))
		for range 40 {
			p = g.ok(g.BindIPI(0))
		}
		g.overtake(p, func() { g.SetWidth(abi.Width32) })
		s := g.state(p, 0)
		want(t, "pending in the new layout", s.pending && s.sel && s.upcall, true)
	})
	t.Run("unmask by bind_vcpu", func(t *testing.T) {
		g := newRig(t, 2)
		h := g.host(nil)
		g.mask(h.Port())
		h.Notify(g.r)
		e := g.slots[h.Port()].entry.Load()
		g.BindVCPU(h.Port(), 1)
		g.tryUnmask(g.r, e)
		g.kept.replay()
		want(t, "the new vCPU knows", g.upcalls[1].Load(), 1)
	})
	t.Run("close and open", func(t *testing.T) {
		g := newRig(t, 2)
		p := g.ok(g.BindIPI(0))
		g.overtake(p, func() { g.ClosePort(p); g.BindIPI(1) })
		want(t, "the new port is told rather than not", g.state(p, 1), state{true, true, true, 1})
	})
}

func TestWidthSwitchRacesWithSends(t *testing.T) {
	g := newRig(t, 2)
	h := g.host(nil)
	for range 1200 {
		g.ok(g.BindIPI(1))
	}
	g.threads(
		func(r *gpc.Reader) {
			for i := range 200 {
				g.SetWidth([]abi.Width{abi.Width32, abi.Width64}[i%2])
			}
		},
		func(r *gpc.Reader) {
			for i := range 20000 {
				h.Notify(r)
				g.takePending(h.Port())
				g.Send(r, uint32(i%1300))
				g.Unmask(r, 0, uint32(i%1300))
			}
		},
	)
	g.SetWidth(abi.Width64)
	g.takePending(h.Port())
	g.ack(0)
	want(t, "and events still arrive", h.Notify(g.r), gpc.Raised)
}

// Everything at once; the race detector and the faulting memory are the check.
func TestEverythingRaces(t *testing.T) {
	g := newRig(t, 34, withPIRQs(8))
	const rounds = 300
	g.threads(
		func(r *gpc.Reader) {
			for range rounds {
				g.mem.rehome(sharedGFN)
				g.mem.change(ramAt/pageSize, -1)
				g.mem.change(ramAt/pageSize, ramPg)
			}
		},
		func(r *gpc.Reader) {
			for i := range rounds {
				g.RegisterVCPUInfo(r, i%34, ramAt+uint64(i%34)*64)
				g.VCPUInfoGPA(i % 34)
				g.UpcallPending(r, i%34)
				g.SetSpurious(r, i%34)
				g.Stats()
			}
		},
		func(r *gpc.Reader) {
			for i := range rounds {
				g.UnmapSharedInfo()
				if err := g.MapSharedInfo(sharedAt, g.Width()); err != nil {
					t.Error(err)
				}
				if i%50 == 0 {
					g.SoftReset()
				}
			}
		},
		func(r *gpc.Reader) {
			for i := range uint32(rounds * 10) {
				g.PollStart(int(i%34), []uint32{i % 8})
				g.AnyPending(r, []uint32{i % 8, 5})
				g.BindPIRQ(i%8, 0)
				g.RaisePIRQ(r, i%8)
				g.BindIPI(i % 34)
				g.Send(r, i%64)
				g.ClosePort(i % 64)
				g.PollEnd(int(i % 34))
			}
		},
	)
}
