// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"testing"
	"time"

	"xenvmm/xenshim/abi"
)

// TestLongestCalls times the calls that a guest can make long, alone and in a
// multicall.
func TestLongestCalls(t *testing.T) {
	m := newMachine(t, abi.Width64)
	l := abi.MemoryReservationLayout(abi.Width64)
	frames := func() uint64 {
		for i := range uint64(1500) {
			m.w64(bufAt+8*i, 0x800+i)
		}
		return bufAt
	}
	release := m.argAt(argAt+0x100, f64(l.ExtentStart, frames()), f64(l.NrExtents, 1500), f16(l.DomID, uint64(abi.DomIDSelf)))
	const n = multicallMax
	for i := range uint64(n) {
		m.w64(bufAt+0x1_0000+i*64, abi.HypercallConsoleIO)
		m.w64(bufAt+0x1_0000+i*64+16, 0)
		m.w64(bufAt+0x1_0000+i*64+24, consoleWriteMax)
		m.w64(bufAt+0x1_0000+i*64+32, bufAt)
	}
	for _, c := range []struct {
		name string
		f    func() int64
		want int64
	}{
		{"release", func() int64 { return m.call(abi.HypercallMemoryOp, abi.XenmemDecreaseReservation, release) }, workBudget / discardCost},
		{"copy", func() int64 { return m.call(abi.HypercallGrantTableOp, abi.GnttabopCopy, bufAt, workBudget) }, 0},
		{"multicall of writes", func() int64 { return m.call(abi.HypercallMulticall, bufAt+0x1_0000, n) }, 0},
	} {
		start := time.Now()
		m.wantN(c.name, c.f(), c.want)
		d := time.Since(start)
		t.Logf("%s: %v", c.name, d)
		if d > 2*time.Second {
			t.Errorf("%s took %v", c.name, d)
		}
	}
}
