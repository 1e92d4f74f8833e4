// SPDX-License-Identifier: Apache-2.0

//go:build !race

package xenshim

import (
	"testing"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

func TestCachedGuestMemoryIsReachedWithoutAllocating(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.mapShared(sharedGFN)
	m.want("map", m.addToPhysmap(7, abi.XenmapspaceGrantTable, 0, 0x400), abi.OK)
	m.d.runstateFlag.Store(true)
	m.registerAt(gpc.Piece{GPA: bufAt + pageSize - 10, N: 10}, gpc.Piece{GPA: bufAt + 9*pageSize, N: 38})
	g, buf := m.d.grantPages, make([]byte, 64)
	for what, f := range map[string]func() error{
		"a change of the runstate": func() error { m.v.waiting(Block); m.v.Entering(); return nil },
		"word":                     func() error { _, err := g.Load32(0, 8); return err },
		"stored word":              func() error { return g.Store32(0, 800, 1) },
		"exchanged word":           func() error { _, err := g.CompareAndSwap32(0, 808, 1, 1); return err },
		"read":                     func() error { return g.ReadAt(buf, 0, 900) },
		"write":                    func() error { return g.WriteAt(buf, 0, 900) },
	} {
		if n := testing.AllocsPerRun(200, func() {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
}

func TestHotCallsAllocateNothing(t *testing.T) {
	m, calls := hotCalls(t)
	for name, f := range calls {
		if n := testing.AllocsPerRun(200, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if m.plat.upcalls[1] == 0 {
		t.Error("nothing was sent")
	}
}
