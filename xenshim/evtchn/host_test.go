// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"errors"
	"testing"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

func TestBackendIsToldWhatTheGuestSends(t *testing.T) {
	g := newRig(t, 1)
	n := 0
	h := g.host(func() { n++ })
	want(t, "no kick at birth", n, 0)
	for range 3 {
		want(t, "send", g.Send(g.r, h.Port()), abi.OK)
	}
	want(t, "kicks", n, 3)
	want(t, "the guest's own port", g.isPending(h.Port()), false)
}

func TestConnectHostKicksTheBackendOnce(t *testing.T) {
	g := newRig(t, 2)
	p := g.ok(g.AllocUnbound(self, abi.DomIDBackend))
	g.BindVCPU(p, 1)
	g.Send(g.r, p) // dropped: nobody is there yet
	n := 0
	h, err := g.ConnectHost(p, func() { n++ })
	if err != nil {
		t.Fatal(err)
	}
	want(t, "kicks", n, 1)
	want(t, "port", h.Port(), p)
	want(t, "notify", h.Notify(g.r), gpc.Raised)
	want(t, "vCPU that the guest chose before", g.state(p, 1), state{true, true, true, 1})
}

func TestConnectHostRefusesPortsThatAreNotForIt(t *testing.T) {
	g := newRig(t, 1)
	g.host(nil)              // 1
	g.AllocUnbound(self, 5)  // 2
	g.BindIPI(0)             // 3
	g.AllocUnbound(self, 99) // 4
	for _, p := range []uint32{0, 1, 2, 3, 4, 5, 4095, 4096, 1 << 31} {
		if _, err := g.ConnectHost(p, nil); !errors.Is(err, abi.EINVAL) {
			t.Errorf("port %d: %v", p, err)
		}
	}
	want(t, "open ports", g.Stats().Ports, 4)
	want(t, "host ports", len(g.hosts), 2)
}

func TestGuestBindsToABackendPort(t *testing.T) {
	g := newRig(t, 1)
	n := 0
	h, err := g.AllocHost(func() { n++ })
	if err != nil {
		t.Fatal(err)
	}
	want(t, "unbound", h.Port(), 0)
	want(t, "notify is dropped", h.Notify(g.r), gpc.NotPending)
	p := g.ok(g.BindInterdomain(g.r, 0, abi.DomIDBackend, h.Number()))
	want(t, "made up for by the bind", g.state(p, 0), state{true, true, true, 1})
	want(t, "port", h.Port(), p)
	g.Send(g.r, p)
	want(t, "kicks", n, 1)
}

func TestClosingOneEndLeavesTheOtherUnbound(t *testing.T) {
	g := newRig(t, 2)
	h := g.host(nil)
	p := h.Port()
	g.BindVCPU(p, 1)

	g.ClosePort(p)
	want(t, "host's end", h.Port(), 0)
	want(t, "notify", h.Notify(g.r), gpc.NotPending)
	want(t, "guest binds again", g.ok(g.BindInterdomain(g.r, 0, 0, h.Number())), p)
	want(t, "notify", h.Notify(g.r), gpc.Coalesced)

	g.BindVCPU(p, 1)
	h.Close()
	h.Close()
	st, _ := g.Status(self, p)
	want(t, "guest's end", st, Status{State: abi.EvtchnStatUnbound, VCPU: 1, Dom: 0})
	want(t, "send", g.Send(g.r, p), abi.OK)
	want(t, "number is free again", g.ok(0, abi.OK), 0)
	if _, err := g.ConnectHost(p, nil); err != nil {
		t.Fatal(err)
	}
}

// What Windows does: status, reset, bind_interdomain.
func TestResetLeavesBackendsToBeBoundAgain(t *testing.T) {
	g := newRig(t, 1)
	n := 0
	store, console := g.host(func() { n++ }), g.host(nil)
	g.BindVIRQ(0, 0)
	g.BindIPI(0)
	st, _ := g.Status(self, store.Port())
	want(t, "reset", g.Reset(g.r, self), abi.OK)
	want(t, "open ports", g.Stats().Ports, 0)
	want(t, "store", store.Port(), 0)
	want(t, "console", console.Port(), 0)
	for port := range uint32(10) {
		s, _ := g.Status(self, port)
		want(t, "status", s.State, abi.EvtchnStatClosed)
	}
	p := g.ok(g.BindInterdomain(g.r, 0, st.Dom, st.Port))
	want(t, "port", p, 1)
	g.Send(g.r, p)
	want(t, "the backend hears", n, 1)

	// Or the host makes new ones.
	console.Close()
	want(t, "new port", g.host(nil).Port(), 2)
}

func TestSoftResetForgetsEverything(t *testing.T) {
	g := newRig(t, 33)
	g.SetWidth(abi.Width32)
	h := g.host(nil)
	g.RegisterVCPUInfo(g.r, 0, ramAt)
	g.RegisterVCPUInfo(g.r, 32, ramAt+64)
	g.SoftReset()
	want(t, "width", g.Width(), abi.Width64)
	want(t, "ports", g.Stats().Ports, 0)
	for _, v := range []int{0, 1, 32} {
		if gpa, ok := g.VCPUInfoGPA(v); ok {
			t.Fatalf("vCPU %d still has a vcpu_info at %#x", v, gpa)
		}
	}
	h.Close()
	clear(g.mem.bytes(sharedPg))
	h = g.host(nil)
	want(t, "notify", h.Notify(g.r), gpc.Stale)
	if err := g.MapSharedInfo(sharedAt, abi.Width64); err != nil {
		t.Fatal(err)
	}
	want(t, "upcall in shared_info again", g.upcall(0), true)
	want(t, "register again", g.RegisterVCPUInfo(g.r, 0, ramAt+128), abi.OK)
	want(t, "register again", g.RegisterVCPUInfo(g.r, 32, ramAt+64), abi.OK)
}

// Ports that could not be cleared need not be: shared_info starts anew.
func TestSoftResetWithSharedInfoAwayLeavesNoPortBusy(t *testing.T) {
	g := newRig(t, 1)
	g.Send(g.r, g.ok(g.BindIPI(0)))
	g.mem.change(sharedGFN, -1)
	g.SoftReset()
	want(t, "first port", g.host(nil).Port(), 1)
	g.mem.change(sharedGFN, sharedPg)
	clear(g.mem.bytes(sharedPg))
	if err := g.MapSharedInfo(sharedAt, abi.Width64); err != nil {
		t.Fatal(err)
	}
	want(t, "state", g.state(1, 0), state{calls: 1}) // of before
}

func TestStatsCountTransitions(t *testing.T) {
	g := newRig(t, 1)
	h := g.host(nil)
	for i := range 10 {
		h.Notify(g.r)
		if i%2 == 1 {
			g.takePending(h.Port())
		}
	}
	d, c, l := h.Stats()
	want(t, "delivered", d, 5)
	want(t, "coalesced", c, 5)
	want(t, "latched", l, 0)
	h.Close()
	s := g.Stats()
	want(t, "sum after close", s.Delivered+s.Coalesced, 10)
}

func TestHostPortsAreBounded(t *testing.T) {
	g := newRig(t, 1)
	var first *HostPort
	for i := 1; i < maxHostPorts; i++ {
		h, err := g.AllocHost(nil)
		if err != nil {
			t.Fatalf("port %d: %v", i, err)
		}
		if first == nil {
			first = h
		}
	}
	if _, err := g.AllocHost(nil); !errors.Is(err, abi.ENOSPC) {
		t.Fatalf("got %v", err)
	}
	first.Close()
	h, err := g.AllocHost(nil)
	if err != nil || h.Number() != first.Number() {
		t.Fatalf("number %d, %v", h.Number(), err)
	}
}
