// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"testing"

	"xenvmm/xenshim/abi"
)

// clockAt checks the wall clock in the layout of w.
func (m *machine) clockAt(w abi.Width) bool {
	l := abi.Layout(w)
	at := uint64(sharedGFN << pageShift)
	v := m.r32(at + uint64(l.WCVersion))
	return v != 0 && v%2 == 0 && m.r32(at+uint64(l.WCSec)) == 0x2345_6789 &&
		m.r32(at+uint64(l.WCNsec)) == 77 && m.r32(at+uint64(l.WCSecHi)) == 1
}

func TestWidthLatch(t *testing.T) {
	m := newMachine(t, abi.Width32)
	if w := m.d.events.Width(); w != abi.Width64 {
		t.Errorf("width before anything: %d", w)
	}
	m.mapShared(sharedGFN)
	if w := m.d.events.Width(); w != abi.Width32 || !m.clockAt(abi.Width32) {
		t.Errorf("after the first map: width %d, clock %v", w, m.clockAt(abi.Width32))
	}
	m.setWidth(abi.Width64)
	m.mapShared(sharedGFN)
	if w := m.d.events.Width(); w != abi.Width32 {
		t.Errorf("a later map latched width %d", w)
	}
	m.want("callback", m.param(abi.HVMOpSetParam, abi.DomIDSelf, abi.HVMParamCallbackIRQ, 1), abi.OK)
	if w := m.d.events.Width(); w != abi.Width64 || !m.clockAt(abi.Width64) {
		t.Errorf("after the callback: width %d, clock %v", w, m.clockAt(abi.Width64))
	}
	m.setWidth(abi.Width32)
	if !m.v.WriteMSR(abi.HypercallMSR, 0x5000, &m.s) || m.d.events.Width() != abi.Width32 {
		t.Errorf("after the MSR: width %d", m.d.events.Width())
	}
}

func TestWidthLatchedByTheHypercallPageStands(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.v.WriteMSR(abi.HypercallMSR, 0x5000, &m.s)
	m.setWidth(abi.Width32)
	m.mapShared(sharedGFN)
	if w := m.d.events.Width(); w != abi.Width64 || !m.clockAt(abi.Width64) {
		t.Errorf("width %d", w)
	}
}

func TestWallClockVersion(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.mapShared(sharedGFN)
	at := uint64(sharedGFN<<pageShift + 0xc00)
	for _, v := range []uint32{0, 1, 2, 0xffff_fffe, 0xffff_ffff} {
		m.mem.mu.Lock()
		putU32(m.mem.over[sharedGFN].data, 0xc00, v)
		m.mem.mu.Unlock()
		m.d.UpdateWallClock()
		if got := m.r32(at); got%2 != 0 || got == v {
			t.Errorf("version %#x after %#x", got, v)
		}
	}
}

func TestEventsSurviveAMoveOfSharedInfo(t *testing.T) {
	m := newMachine(t, abi.Width64)
	port := m.ipi(0)
	m.want("send before shared_info is mapped", m.sendPort(port), abi.OK)
	m.mapShared(sharedGFN)
	if m.r64(sharedGFN<<pageShift+0x800)&(1<<port) == 0 {
		t.Error("not replayed")
	}
	m.mapShared(0xe0000)
	if m.r64(0xe0000<<pageShift+0x800)&(1<<port) == 0 || m.read(0xe0000<<pageShift, 1)[0] != 1 {
		t.Error("lost in the move")
	}
	if m.r64(sharedGFN<<pageShift+0x800) != 0 {
		t.Error("the RAM at the old place was written")
	}
}
