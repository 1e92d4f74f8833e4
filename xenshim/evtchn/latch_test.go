// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"testing"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// settle waits until whatever the replayer was kicked for is done.
func (g *rig) settle() {
	g.kept.replay()
}

const sharedGFN = sharedAt / pageSize

func TestEventBeforeSharedInfoIsMappedIsReplayed(t *testing.T) {
	g := newBareRig(t, 1)
	h := g.host(nil)
	for range 3 {
		want(t, "notify", h.Notify(g.r), gpc.Stale)
	}
	if err := g.MapSharedInfo(sharedAt, abi.Width64); err != nil {
		t.Fatal(err)
	}
	want(t, "replayed", g.state(h.Port(), 0), state{true, true, true, 1})
	d, c, l := h.Stats()
	want(t, "delivered", d, 1)
	want(t, "coalesced", c, 0)
	want(t, "latched", l, 3)
	want(t, "waiting", g.Stats().Waiting, false)
}

func TestEventWhileMemoryIsAwayIsReplayedByTheRestoreHook(t *testing.T) {
	g := newRig(t, 1)
	h := g.host(nil)
	g.mem.change(sharedGFN, -1)
	want(t, "notify", h.Notify(g.r), gpc.Stale)
	want(t, "waiting", g.Stats().Waiting, true)
	replayed := make(chan struct{}, 1)
	g.onUp = func(int) { replayed <- struct{}{} }
	g.mem.change(sharedGFN, sharedPg)
	await(t, "replay", replayed)
	want(t, "state", g.state(h.Port(), 0), state{true, true, true, 1})
}

// Memory returns after a sender has given up on it and before it has latched the
// event: the restore hook finds nothing to do.
func TestMemoryThatReturnsBeforeTheEventIsLatched(t *testing.T) {
	g := newRig(t, 1)
	p := g.ok(g.BindIPI(0))
	replayed := make(chan struct{}, 1)
	g.onUp = func(int) { replayed <- struct{}{} }
	g.mem.change(sharedGFN, -1)
	want(t, "attempt", g.attempt(g.r, g.slots[p].entry.Load()), gpc.Stale)
	g.mem.change(sharedGFN, sharedPg)
	g.kept.keep(&g.kept.latched, p)
	await(t, "replay", replayed)
	want(t, "state", g.state(p, 0), state{true, true, true, 1})
}

func TestInvalidatedMemoryIsRefreshedBySenders(t *testing.T) {
	g := newRig(t, 1)
	h := g.host(nil)
	for i := range 10 {
		g.mem.rehome(sharedGFN)
		want(t, "notify", h.Notify(g.r), gpc.Raised)
		want(t, "state", g.state(h.Port(), 0), state{true, true, true, int64(i + 1)})
		g.takePending(h.Port())
		g.ack(0)
	}
	_, _, l := h.Stats()
	want(t, "latched", l, 0)
}

func TestSelectorIsOwedWhileVCPUInfoIsAway(t *testing.T) {
	g := newRig(t, 2)
	want(t, "register", g.RegisterVCPUInfo(g.r, 1, ramAt), abi.OK)
	g.mem.word(ramPg, 0).Store(0)
	g.mem.word(ramPg, 8).Store(0)
	g.upcalls[1].Store(0)
	p := g.ok(g.BindIPI(1))
	g.mem.change(ramAt/pageSize, -1)
	want(t, "send", g.Send(g.r, p), abi.OK)
	want(t, "pending is set", g.isPending(p), true)
	want(t, "no upcall", g.upcalls[1].Load(), 0)
	replayed := make(chan struct{}, 1)
	g.onUp = func(int) { replayed <- struct{}{} }
	g.mem.change(ramAt/pageSize, ramPg)
	await(t, "replay", replayed)
	want(t, "selector", g.mem.word(ramPg, 8).Load(), 1)
	want(t, "upcall", g.mem.word(ramPg, 0).Load()&0xff, 1)
}

func TestVCPUFrom32OnHasNoInfoUntilRegistered(t *testing.T) {
	g := newRig(t, 40)
	p31, p35 := g.ok(g.BindIPI(31)), g.ok(g.BindIPI(35))
	if _, ok := g.VCPUInfoGPA(35); ok {
		t.Fatal("vCPU 35 has a vcpu_info")
	}
	gpa, ok := g.VCPUInfoGPA(31)
	want(t, "vCPU 31 in shared_info", ok && gpa == sharedAt+31*64, true)
	g.Send(g.r, p31)
	want(t, "vCPU 31", g.upcalls[31].Load(), 1)
	g.Send(g.r, p35)
	want(t, "pending", g.isPending(p35), true)
	want(t, "no upcall", g.upcalls[35].Load(), 0)
	want(t, "register", g.RegisterVCPUInfo(g.r, 35, ramAt+128), abi.OK)
	if g.upcalls[35].Load() == 0 {
		t.Fatal("no upcall after the registration")
	}
	want(t, "bits", g.mem.word(ramPg, 128+8).Load()&1, 1)
	gpa, ok = g.VCPUInfoGPA(35)
	want(t, "gpa", ok && gpa == ramAt+128, true)
}

func TestOwedEventFollowsBindVCPU(t *testing.T) {
	g := newRig(t, 40)
	h := g.host(nil)
	g.BindVCPU(h.Port(), 39)
	want(t, "notify", h.Notify(g.r), gpc.StaleVCPU)
	g.BindVCPU(h.Port(), 3)
	g.settle()
	want(t, "new vCPU", g.state(h.Port(), 3), state{true, true, true, 1})
	want(t, "waiting", g.Stats().Waiting, false)
}

func TestRegistrationMovesContentsAndMarksEverything(t *testing.T) {
	for _, w := range []abi.Width{abi.Width32, abi.Width64} {
		g := newRig(t, 2)
		g.SetWidth(w)
		page := g.mem.bytes(sharedPg)[64:128] // vcpu_info[1]
		copy(page[32:], "time of vcpu 1")
		copy(g.mem.bytes(ramPg), "kernel data that was here")
		p := g.ok(g.BindIPI(1))
		g.Send(g.r, p)
		want(t, "register", g.RegisterVCPUInfo(g.r, 1, ramAt), abi.OK)
		got := g.mem.bytes(ramPg)[:64]
		want(t, "upcall_pending", got[0], 1)
		off, n := 8, 8
		if w == abi.Width32 {
			off, n = 4, 4
		}
		for i, b := range got[off : off+n] {
			if b != 0xff {
				t.Fatalf("%d-bit: selector byte %d is %#x", w.Bits(), i, b)
			}
		}
		want(t, "time", string(got[32:46]), "time of vcpu 1")
		want(t, "upcalls", g.upcalls[1].Load(), 2)
		want(t, "rest of the page", string(g.mem.bytes(ramPg)[64:72]), "\x00\x00\x00\x00\x00\x00\x00\x00")

		// From now on events go to the new place only.
		clear(got)
		clear(page)
		g.takePending(p)
		g.Send(g.r, p)
		want(t, "new place", got[0], 1)
		want(t, "old place", page[0], 0)
		want(t, "UpcallPending", g.UpcallPending(g.r, 1), true)
	}
}

func TestFailedRegistrationLeavesTheOldPlace(t *testing.T) {
	g := newRig(t, 1)
	want(t, "register", g.RegisterVCPUInfo(g.r, 0, holeAt), abi.EINVAL)
	p := g.ok(g.BindIPI(0))
	g.Send(g.r, p)
	want(t, "state", g.state(p, 0), state{true, true, true, 1})
	want(t, "a good one is still possible", g.RegisterVCPUInfo(g.r, 0, ramAt), abi.OK)
}

func TestRegistrationWithoutMemoryBehindItMarksLater(t *testing.T) {
	g := newRig(t, 1)
	g.kept.keepMark(0)
	g.mem.change(sharedGFN, -1)
	g.settle()
	want(t, "waiting", g.Stats().Waiting, true)
	called := make(chan struct{}, 1)
	g.onUp = func(int) { called <- struct{}{} }
	g.mem.change(sharedGFN, sharedPg)
	await(t, "upcall", called)
	want(t, "upcall", g.upcall(0), true)
	want(t, "selector", g.mem.word(sharedPg, 12).Load(), ^uint32(0))
}

func TestUnmaskWhileSharedInfoIsAwayIsNotLost(t *testing.T) {
	g := newRig(t, 1)
	p := g.ok(g.BindIPI(0))
	g.mask(p)
	g.Send(g.r, p)
	g.UnmapSharedInfo()
	want(t, "unmask", g.Unmask(g.r, 0, p), abi.OK)
	want(t, "nothing yet", g.state(p, 0), state{pending: true})
	if err := g.MapSharedInfo(sharedAt, abi.Width64); err != nil {
		t.Fatal(err)
	}
	want(t, "afterwards", g.state(p, 0), state{true, true, true, 1})
	want(t, "mask", g.isMasked(p), false)
}

func TestPortClosedWhileSharedInfoIsAwayStartsClean(t *testing.T) {
	g := newRig(t, 1)
	p := g.ok(g.BindIPI(0))
	g.mask(p)
	g.Send(g.r, p)
	g.UnmapSharedInfo()
	want(t, "close", g.ClosePort(p), abi.OK)
	next := g.ok(g.BindIPI(0))
	if next == p {
		t.Fatal("the port was given out with an old event on it")
	}
	if err := g.MapSharedInfo(sharedAt, abi.Width64); err != nil {
		t.Fatal(err)
	}
	want(t, "pending", g.isPending(p), false)
	want(t, "lowest free port", g.ok(g.BindIPI(0)), p)
}

func TestPortClosedBeforeSharedInfoWasEverMappedIsReused(t *testing.T) {
	g := newBareRig(t, 1)
	p := g.ok(g.BindIPI(0))
	g.Send(g.r, p)
	g.ClosePort(p)
	want(t, "port", g.ok(g.BindIPI(0)), p)
	if err := g.MapSharedInfo(sharedAt, abi.Width64); err != nil {
		t.Fatal(err)
	}
	want(t, "no event of the earlier port", g.state(p, 0), state{})
}

func TestNothingIsWrittenToWhereSharedInfoWas(t *testing.T) {
	g := newRig(t, 1)
	h := g.host(nil)
	g.UnmapSharedInfo()
	g.mem.change(sharedGFN, 2) // ordinary memory now
	g.mem.change(0x90, sharedPg)
	want(t, "notify", h.Notify(g.r), gpc.Stale)
	if err := g.MapSharedInfo(0x90*pageSize, abi.Width64); err != nil {
		t.Fatal(err)
	}
	want(t, "state", g.state(h.Port(), 0), state{true, true, true, 1})
	for i, b := range g.mem.bytes(2) {
		if b != 0 {
			t.Fatalf("byte %#x of the guest's memory was written", i)
		}
	}
	gpa, _ := g.VCPUInfoGPA(0)
	want(t, "vcpu_info moved along", gpa, 0x90*pageSize)
}

func TestMapSharedInfoReportsBadPlaces(t *testing.T) {
	g := newRig(t, 1)
	h := g.host(nil)
	for _, gpa := range []uint64{sharedAt + 8, holeAt, ^uint64(4095)} {
		if err := g.MapSharedInfo(gpa, abi.Width64); err == nil {
			t.Fatalf("%#x was accepted", gpa)
		}
	}
	want(t, "notify", h.Notify(g.r), gpc.Stale)
	if err := g.MapSharedInfo(sharedAt, abi.Width64); err != nil {
		t.Fatal(err)
	}
	want(t, "state", g.state(h.Port(), 0), state{true, true, true, 1})
}

func TestLatchedThingsOfAClosedPortAreForgotten(t *testing.T) {
	g := newRig(t, 1)
	p := g.ok(g.BindIPI(0))
	g.UnmapSharedInfo()
	g.Send(g.r, p)
	g.Unmask(g.r, 0, p)
	g.ClosePort(p)
	if err := g.MapSharedInfo(sharedAt, abi.Width64); err != nil {
		t.Fatal(err)
	}
	want(t, "state", g.state(p, 0), state{})
	want(t, "waiting", g.Stats().Waiting, false)
}

// The replayer must not spin while memory is away.
func TestReplaysEndWhileMemoryIsAway(t *testing.T) {
	g := newRig(t, 40)
	p, q := g.ok(g.BindIPI(0)), g.ok(g.BindIPI(35))
	g.Send(g.r, q)
	g.mem.change(sharedGFN, -1)
	for range 100 {
		g.Send(g.r, p)
	}
	g.settle()
	g.settle()
	n := g.Stats().Replayed
	for range 10 {
		g.settle()
	}
	// Ten more were asked for; a few of the kicks of before may still come.
	if got := g.Stats().Replayed; got > n+15 {
		t.Fatalf("%d replays while nothing happened", got-n-10)
	}
}
