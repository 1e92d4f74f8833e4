// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"
	"time"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// until yields until cond holds.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !cond(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("gave up waiting until %s", what)
		}
	}
}

// registerAt registers the runstate area of vCPU 0 at pieces of guest memory.
func (m *machine) registerAt(first, second gpc.Piece) {
	m.v.run.register(m.d, first, second, m.width)
}

func (m *machine) readPieces(pieces ...gpc.Piece) (b []byte) {
	for _, p := range pieces {
		b = append(b, m.read(p.GPA, int(p.N))...)
	}
	return b
}

// The area lies at the end of one frame and at the start of another that is not
// its neighbour. Either is taken away while the state changes.
func TestRunstateIsCaughtUpWhenMemoryReturns(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		m.mapShared(sharedGFN)
		for _, flag := range []bool{false, true} {
			m.d.runstateFlag.Store(flag)
			n := uint64(abi.RunstateLayout(m.width).Size)
			first := gpc.Piece{GPA: bufAt + pageSize - 13, N: 13}
			second := gpc.Piece{GPA: bufAt + 9*pageSize, N: n - 13}
			m.registerAt(first, second)
			shown := func() area { return decodeArea(m.readPieces(first, second), m.width) }
			for _, gpa := range []uint64{first.GPA, second.GPA} {
				before := shown()
				m.pass(10)
				back := m.mem.takeAway(gpa >> pageShift)
				m.v.AddStolen(3)
				m.v.AddStolen(2)
				back()
				until(t, "the area is up to date", func() bool {
					a := shown()
					return a.time[1] == before.time[1]+5 && a.entry == m.plat.now
				})
				if a := shown(); a.state != abi.RunstateRunning || a.time[0] != before.time[0]+5 {
					t.Errorf("caught up to %+v after %+v", a, before)
				}
			}
			// Memory moves without ever being away: each change sees to itself.
			for range 10 {
				m.mem.change(func() {}, second.GPA>>pageShift)
				before := shown()
				m.pass(1)
				m.v.AddStolen(1)
				if a := shown(); a.time[1] != before.time[1]+1 {
					t.Errorf("%+v after %+v", a, before)
				}
			}
			m.registerAt(gpc.Piece{}, gpc.Piece{})
		}
	})
}

// No reader waits for a mark whose end is in a page that is gone.
func TestRunstateUpdateFlagIsTakenBackWhenAPageIsWithdrawn(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.mapShared(sharedGFN)
	m.d.runstateFlag.Store(true)
	first := gpc.Piece{GPA: bufAt + pageSize - 16, N: 16} // state and entry time
	second := gpc.Piece{GPA: bufAt + 9*pageSize, N: 32}
	m.registerAt(first, second)
	back := m.mem.takeAway(second.GPA >> pageShift)
	m.pass(10)
	m.v.AddStolen(3)
	if entry := u64(m.read(first.GPA+8, 8), 0); entry&abi.RunstateUpdateFlag != 0 {
		t.Errorf("entry time %#x", entry)
	}
	back()
	until(t, "the area is up to date", func() bool { return m.r64(second.GPA+8) == 3 })
}

func TestRunstateAreaRegisteredBeforeItHasMemory(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.mapShared(sharedGFN)
	back := m.mem.takeAway(bufAt >> pageShift)
	m.want("register", m.vcpuOp(abi.VCPUOpRegisterRunstateMemoryArea, 0, m.arg(f64(0, bufAt+8))), abi.OK)
	m.pass(10)
	m.v.AddStolen(4)
	back()
	until(t, "the area is written", func() bool { return m.r64(bufAt+8+16+8) == 4 })
}

func TestConsoleOutputSentWhileItsFrameIsAwayIsWritten(t *testing.T) {
	out := &tellWriter{want: 5, done: make(chan struct{})}
	m := newMachine(t, abi.Width64, func(c *Config) { c.ConsoleOut = out })
	m.mapShared(sharedGFN)
	ring := uint64(DefaultConsoleGFN << pageShift)
	m.write(ring+abi.ConsoleOut, []byte("hello"))
	m.write(ring+abi.ConsoleOutProd, []byte{5, 0, 0, 0})
	back := m.mem.takeAway(DefaultConsoleGFN)
	m.want("kick", m.sendPort(uint32(m.d.params.get(abi.HVMParamConsoleEvtchn))), abi.OK)
	until(t, "the ring is looked at", m.d.console.pages.latch.owed.Load)
	select {
	case <-out.done:
		t.Fatal("output from a page without memory")
	default:
	}
	back()
	<-out.done
	until(t, "the consumer index is shown", func() bool { return m.r32(ring+abi.ConsoleOutCons) == 5 })
}

func TestStoreRequestSentWhileItsFrameIsAwayIsAnswered(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.mapShared(sharedGFN)
	ring := uint64(DefaultStoreGFN << pageShift)
	msg := make([]byte, 16, 32)
	binary.LittleEndian.PutUint32(msg, abi.XSRead)
	binary.LittleEndian.PutUint32(msg[12:], 5)
	msg = append(msg, "name\x00"...)
	m.write(ring+abi.XenstoreReq, msg)
	m.write(ring+abi.XenstoreReqProd, []byte{byte(len(msg)), 0, 0, 0})
	back := m.mem.takeAway(DefaultStoreGFN)
	m.want("kick", m.sendPort(uint32(m.d.params.get(abi.HVMParamStoreEvtchn))), abi.OK)
	until(t, "the ring is looked at", m.d.store.pages.latch.owed.Load)
	back()
	until(t, "the reply is there", func() bool { return m.r32(ring+abi.XenstoreRspProd) >= 20 })
	if reply := m.read(ring+abi.XenstoreRsp, 20); string(reply[16:]) != "test" {
		t.Errorf("reply % x", reply)
	}
}

func TestGrantGivenBackWhileItsFrameIsAwayCanBeRevoked(t *testing.T) {
	m := newMachine(t, abi.Width64)
	const gfn = 0x8_0000 // a hole
	m.want("map", m.addToPhysmap(7, abi.XenmapspaceGrantTable, 0, gfn), abi.OK)
	entry := uint64(gfn<<pageShift + 9*abi.GrantEntryV1Size)
	m.write(entry, []byte{abi.GTFPermitAccess, 0, 0, 0, bufAt >> pageShift & 0xff, bufAt >> pageShift >> 8, 0, 0})
	g, st := m.d.Grants().Map(9, true)
	if st != abi.GNTSTOkay {
		t.Fatal(st)
	}
	if flags := m.read(entry, 1)[0]; flags != abi.GTFPermitAccess|abi.GTFReading|abi.GTFWriting {
		t.Fatalf("flags %#x while mapped", flags)
	}
	back := m.mem.takeAway(gfn)
	if _, st := m.d.Grants().Map(10, false); st != abi.GNTSTGeneralError {
		t.Errorf("map from a frame without memory: %v", st)
	}
	if st := g.Unmap(); st != abi.GNTSTOkay {
		t.Fatal(st)
	}
	back()
	until(t, "the entry can be revoked", func() bool { return m.read(entry, 1)[0] == abi.GTFPermitAccess })
}

func TestWallClockSetWhileSharedInfoIsAwayIsWritten(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.mapShared(sharedGFN)
	l := abi.Layout(abi.Width64)
	back := m.mem.takeAway(sharedGFN)
	m.plat.locked(func() { m.plat.wallSec = 4711 })
	m.d.UpdateWallClock()
	back()
	sec := uint64(sharedGFN<<pageShift) + uint64(l.WCSec)
	until(t, "the wall clock is written", func() bool { return m.r32(sec) == 4711 })
}

// Pages of the domain are reached by the frame where the guest has them, and
// where the host keeps them while it has them nowhere.
func TestPagesAreReachedWhereTheGuestHasThem(t *testing.T) {
	m := newMachine(t, abi.Width64)
	g := m.d.grantPages
	dirty := map[uint64]int{}
	mark := func(gpa uint64) {
		if gfn := gpa >> pageShift; gfn != DefaultStoreGFN && gfn != DefaultConsoleGFN { // theirs may run
			dirty[gfn]++
		}
	}
	m.mem.onDirty.Store(&mark)
	check := func(what string, gfn uint64) {
		t.Helper()
		clear(dirty)
		word := uint32(0xabc00000) | uint32(gfn)
		ok, err := g.CompareAndSwap32(3, 64, 0, word)
		if err != nil || !ok {
			t.Fatalf("%s: %v, %v", what, ok, err)
		}
		if ok, err := g.CompareAndSwap32(3, 64, 1, 2); err != nil || ok {
			t.Fatalf("%s: exchange of another value: %v, %v", what, ok, err)
		}
		if v, err := g.Load32(3, 64); err != nil || v != word {
			t.Fatalf("%s: %#x, %v", what, v, err)
		}
		b := []byte("granted")
		if err := g.WriteAt(b, 3, 100); err != nil {
			t.Fatal(err)
		}
		if err := g.ReadAt(b, 3, 100); err != nil || string(b) != "granted" {
			t.Fatalf("%s: %q, %v", what, b, err)
		}
		if gfn != 0 {
			if m.r32(gfn<<pageShift+64) != word || !bytes.Equal(m.read(gfn<<pageShift+100, 7), b) {
				t.Errorf("%s: the guest sees something else", what)
			}
			if dirty[gfn] == 0 {
				t.Errorf("%s: not marked dirty", what)
			}
		}
		if _, active := g.caches[3].GPA(); active != (gfn != 0) || len(dirty) > 1 {
			t.Errorf("%s: cached %v, marked %v", what, active, dirty)
		}
		if err := g.Store32(3, 64, 0); err != nil {
			t.Fatal(err)
		}
	}
	check("not mapped yet", 0)
	for _, gfn := range []uint64{0x400, 0x8_0000, 0x401} {
		m.want("map", m.addToPhysmap(7, abi.XenmapspaceGrantTable, 3, gfn), abi.OK)
		check("mapped", gfn)
	}
	m.mem.mapErr = abi.ENOMEM
	m.want("failed move", m.addToPhysmap(7, abi.XenmapspaceGrantTable, 3, 0x402), abi.ENOMEM)
	m.want("failed replacement", m.addToPhysmap(7, abi.XenmapspaceGrantTable, 4, 0x401), abi.ENOMEM)
	m.mem.mapErr = nil
	check("after a failed move", 0x401)
	m.want("replaced", m.addToPhysmap(7, abi.XenmapspaceGrantTable, 4, 0x401), abi.OK)
	check("replaced by another", 0)
	m.want("map", m.addToPhysmap(7, abi.XenmapspaceGrantTable, 3, 0x402), abi.OK)
	m.want("remove", errno(m.d.removeFrame(0x402)), abi.OK)
	check("removed", 0)
	for _, bad := range []struct {
		idx int
		off uint32
		n   int
	}{{-1, 0, 1}, {64, 0, 1}, {3, 4095, 2}, {3, ^uint32(0), 1}, {3, 0, pageSize + 1}} {
		if g.WriteAt(make([]byte, bad.n), bad.idx, bad.off) == nil || g.ReadAt(make([]byte, bad.n), bad.idx, bad.off) == nil {
			t.Errorf("%+v: accepted", bad)
		}
	}
}

// A page that moves, is replaced or taken away leaves something else in its old
// place, which must not be written, not even while the change is going on.
func TestNothingIsWrittenToWhereAPageWas(t *testing.T) {
	m := newMachine(t, abi.Width64)
	g := m.d.grantPages
	m.want("map", m.addToPhysmap(7, abi.XenmapspaceGrantTable, 3, 0x400), abi.OK)
	var n uint32
	m.mem.afterMap = func() {
		n++
		if err := g.Store32(3, 64, n); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct {
		what   string
		change func() int64
		old    uint64
	}{
		{"moved", func() int64 { return m.addToPhysmap(7, abi.XenmapspaceGrantTable, 3, 0x401) }, 0x400},
		{"replaced", func() int64 { return m.addToPhysmap(7, abi.XenmapspaceGrantTable, 4, 0x401) }, 0x401},
		{"mapped again", func() int64 { return m.addToPhysmap(7, abi.XenmapspaceGrantTable, 3, 0x402) }, 0x400},
		{"removed", func() int64 { return errno(m.d.removeFrame(0x402)) }, 0x402},
	} {
		m.want(c.what, c.change(), abi.OK)
		if v := m.r32(c.old<<pageShift + 64); v != 0 {
			t.Errorf("%s: %d was written to the old place", c.what, v)
		}
		if v, err := g.Load32(3, 64); err != nil || v != n {
			t.Errorf("%s: the page has %d, %v; want %d", c.what, v, err, n)
		}
	}
}
