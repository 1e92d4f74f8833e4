// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"sync"
	"testing"

	"xenvmm/xenshim/abi"
)

func TestPollersAreWokenByTheirPort(t *testing.T) {
	g := newRig(t, 5)
	a, b := g.ok(g.BindIPI(0)), g.ok(g.BindIPI(0))
	g.mask(a)
	g.mask(b)
	g.PollStart(1, []uint32{a})
	g.PollStart(2, []uint32{b})
	g.PollStart(3, []uint32{b, b})
	g.PollStart(4, nil)
	g.Send(g.r, a)
	for v, n := range []int64{0, 1, 0, 1, 1} { // with several ports a wake may be needless
		want(t, "woken", g.woken[v].Load(), n)
	}
	g.takePending(a)
	g.Send(g.r, a)
	want(t, "once per poll", g.woken[1].Load(), 1)
	g.Send(g.r, b)
	want(t, "other port", g.woken[2].Load(), 1)
	for v := range 5 {
		g.PollEnd(v)
		g.PollEnd(v)
	}
	want(t, "pollers left", g.polls.n.Load(), 0)
}

func TestPollersWakeWhetherOrNotThePortIsMasked(t *testing.T) {
	for _, masked := range []bool{false, true} {
		g := newRig(t, 2)
		p := g.ok(g.BindIPI(0))
		if masked {
			g.mask(p)
		}
		g.PollStart(1, []uint32{p})
		g.Send(g.r, p)
		want(t, "woken", g.woken[1].Load(), 1)
	}
}

func TestCoalescedEventWakesNobody(t *testing.T) {
	g := newRig(t, 2)
	p := g.ok(g.BindIPI(0))
	g.Send(g.r, p)
	g.PollStart(1, []uint32{p})
	g.Send(g.r, p)
	want(t, "woken", g.woken[1].Load(), 0)
	pending, e := g.AnyPending(g.r, []uint32{p})
	want(t, "the check sees it", pending && e == abi.OK, true)
	g.PollEnd(1)
}

func TestPollWakesWhenOnlyTheVCPUInfoIsAway(t *testing.T) {
	g := newRig(t, 40)
	p := g.ok(g.BindIPI(35))
	g.PollStart(35, []uint32{p})
	g.Send(g.r, p)
	want(t, "woken", g.woken[35].Load(), 1)
}

func TestPollChecksPortsInTurn(t *testing.T) {
	g := newRig(t, 1)
	p, q := g.ok(g.BindIPI(0)), g.ok(g.BindIPI(0))
	g.Send(g.r, q)
	for _, c := range []struct {
		name    string
		ports   []uint32
		pending bool
		e       abi.Errno
	}{
		{"none", nil, false, abi.OK},
		{"quiet", []uint32{p}, false, abi.OK},
		{"second", []uint32{p, q}, true, abi.OK},
		{"pending before a bad one", []uint32{q, 4096}, true, abi.OK},
		{"bad before a pending one", []uint32{4096, q}, false, abi.EINVAL},
	} {
		pending, e := g.AnyPending(g.r, c.ports)
		want(t, c.name, pending, c.pending)
		want(t, c.name, e, c.e)
	}
	g.ClosePort(q)
	g.mem.orBit(sharedPg, 0x800, q)
	pending, _ := g.AnyPending(g.r, []uint32{q})
	want(t, "closed port whose bit the guest set", pending, false)
}

func TestLatchedEventCountsAsPendingForAPoll(t *testing.T) {
	g := newRig(t, 1)
	p := g.ok(g.BindIPI(0))
	g.UnmapSharedInfo()
	pending, _ := g.AnyPending(g.r, []uint32{p})
	want(t, "before", pending, false)
	g.Send(g.r, p)
	pending, _ = g.AnyPending(g.r, []uint32{p})
	want(t, "latched", pending, true)
	want(t, "no vcpu_info, no upcall", g.UpcallPending(g.r, 0), false)
}

// A poll whose list of ports can't be read ends like any other.
func TestFailedPollLeavesNoPollerBehind(t *testing.T) {
	g := newRig(t, 1)
	for range 1000 {
		g.PollStart(0, []uint32{5000, 1})
		if _, e := g.AnyPending(g.r, []uint32{5000, 1}); e != abi.EINVAL {
			t.Fatal(e)
		}
		g.PollEnd(0)
	}
	want(t, "pollers", g.polls.n.Load(), 0)
	want(t, "poll state", g.vcpus[0].poll.Load(), pollNone)
}

func TestPollOfVCPUsThatDoNotExist(t *testing.T) {
	g := newRig(t, 1)
	for _, v := range []int{-1, 1, 1 << 40} {
		g.PollStart(v, nil)
		g.PollEnd(v)
		want(t, "UpcallPending", g.UpcallPending(g.r, v), false)
	}
	want(t, "pollers", g.polls.n.Load(), 0)
}

// No wake-up is lost between the check of a poller and its sleep: every event is
// either seen by the check or wakes it.
func TestPollNeverMissesAnEvent(t *testing.T) {
	g := newRig(t, 2)
	p := g.ok(g.BindIPI(0))
	g.mask(p)
	wake := make(chan struct{}, 1)
	g.onWake = func(int) {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	const events = 3000
	next := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		r := g.mem.set.NewReader()
		defer r.Close()
		for range events {
			g.Send(r, p)
			<-next
		}
	})
	for range events {
		for {
			g.PollStart(1, []uint32{p})
			if pending, _ := g.AnyPending(g.r, []uint32{p}); pending {
				g.PollEnd(1)
				break
			}
			await(t, "wake-up", wake)
			g.PollEnd(1)
		}
		g.takePending(p)
		next <- struct{}{}
	}
	wg.Wait()
	want(t, "pollers", g.polls.n.Load(), 0)
}
