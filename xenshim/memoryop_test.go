// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"errors"
	"fmt"
	"testing"

	"xenvmm/xenshim/abi"
)

func TestMemoryQueries(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		q := func(cmd uint64, dom abi.DomID) int64 {
			return m.call(abi.HypercallMemoryOp, cmd, m.arg(f16(0, uint64(dom))))
		}
		pages := int64(ramSize >> pageShift)
		for _, dom := range []abi.DomID{abi.DomIDSelf, 7} {
			m.wantN("current", q(abi.XenmemCurrentReservation, dom), pages)
			m.wantN("maximum", q(abi.XenmemMaximumReservation, dom), pages)
			m.wantN("maximum_gpfn", q(abi.XenmemMaximumGPFN, dom), DefaultConsoleGFN)
		}
		for _, cmd := range []uint64{abi.XenmemCurrentReservation, abi.XenmemMaximumReservation, abi.XenmemMaximumGPFN} {
			m.want("control domain", q(cmd, 0), abi.EPERM)
			m.want("unknown domain", q(cmd, 8), abi.ESRCH)
			m.want("unmapped", m.call(abi.HypercallMemoryOp, cmd, unmapped), abi.EFAULT)
		}
		m.wantN("maximum_ram_page", m.call(abi.HypercallMemoryOp, abi.XenmemMaximumRAMPage, 0), pages)
		for _, cmd := range []uint64{5, 8, 10, abi.XenmemExchange, 12, 16, 24, 40, 63} {
			m.want(fmt.Sprint("command ", cmd), m.call(abi.HypercallMemoryOp, cmd, argAt), abi.ENOSYS)
		}
		m.want("set_memory_map", m.call(abi.HypercallMemoryOp, abi.XenmemSetMemoryMap, argAt), abi.EPERM)
	})
}

func TestMemoryMap(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		l := abi.MemoryMapLayout(m.width)
		ask := func(n, buf uint64) int64 {
			return m.call(abi.HypercallMemoryOp, abi.XenmemMemoryMap, m.arg(f32(l.NrEntries, n), m.fw(l.Buffer, buf)))
		}
		for _, c := range []struct{ room, got uint64 }{{128, 3}, {3, 3}, {2, 2}, {0, 0}, {0xffff_ffff, 3}} {
			m.write(bufAt, make([]byte, 80))
			m.want("memory_map", ask(c.room, bufAt), abi.OK)
			if n := m.r32(argAt + uint64(l.NrEntries)); uint64(n) != c.got {
				t.Errorf("room for %d: %d entries", c.room, n)
			}
			for i := range c.got {
				at, e := bufAt+20*i, m.d.cfg.MemoryMap[i]
				if m.r64(at) != e.Address || m.r64(at+8) != e.Size || m.r32(at+16) != e.Type {
					t.Errorf("entry %d is wrong", i)
				}
			}
			if m.r64(bufAt+20*c.got) != 0 {
				t.Errorf("room for %d: more was written", c.room)
			}
		}
		m.want("no buffer", ask(1, unmapped), abi.EFAULT)
		m.want("no argument", m.call(abi.HypercallMemoryOp, abi.XenmemMemoryMap, unmapped), abi.EFAULT)
		m.d.cfg.MemoryMap = nil
		m.want("no map", ask(1, bufAt), abi.ENOSYS)
	})
}

func TestAddToPhysmapErrors(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		self, status := abi.DomIDSelf, uint64(abi.XenmapidxGrantTableStatus)
		for _, c := range []struct {
			name            string
			dom             abi.DomID
			space, idx, gfn uint64
			want            abi.Errno
		}{
			{"shared_info", self, 0, 0, 0x300, abi.OK},
			{"shared_info by own id", 7, 0, 0, 0x301, abi.OK},
			{"again in the same place", self, 0, 0, 0x301, abi.OK},
			{"shared_info 1", self, 0, 1, 0x300, abi.EINVAL},
			{"outside RAM", self, 0, 0, 0xfed00, abi.OK},
			{"highest grant frame first", self, 1, 63, 0x310, abi.OK},
			{"grant frame 0", self, 1, 0, 0x311, abi.OK},
			{"beyond the grant table", self, 1, 64, 0x310, abi.EINVAL},
			{"status frames", self, 1, status, 0x310, abi.EINVAL},
			{"over our own page", self, 1, 1, 0x311, abi.OK},
			{"gmfn", self, 2, 0, 0x310, abi.EOPNOTSUPP},
			{"gmfn_range", self, 3, 0, 0x310, abi.EOPNOTSUPP},
			{"foreign", self, 4, 0, 0x310, abi.ENOSYS},
			{"no such space", self, 5, 0, 0x310, abi.EINVAL},
			{"no such space", self, 0xffff_ffff, 0, 0x310, abi.EINVAL},
			{"control domain", 0, 0, 0, 0x300, abi.EPERM},
			{"unknown domain", 8, 0, 0, 0x300, abi.ESRCH},
		} {
			m.want(c.name, m.addToPhysmap(c.dom, c.space, c.idx, c.gfn), c.want)
		}
		if m.width == abi.Width64 {
			for _, gfn := range []uint64{1 << 40, 1 << 52, ^uint64(0)} {
				m.want("gfn too big", m.addToPhysmap(self, 0, 0, gfn), abi.EINVAL)
				m.want("gfn too big", m.addToPhysmap(self, 1, 0, gfn), abi.EINVAL)
			}
		}
		m.want("no argument", m.call(abi.HypercallMemoryOp, abi.XenmemAddToPhysmap, unmapped), abi.EFAULT)
	})
}

func TestSharedInfoMoves(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.write(0x300<<pageShift, []byte("RAM"))
	m.mapShared(0x300)
	if m.plat.systime[0] != 0x300_020 || m.plat.systime[3] != 0x300_0e0 {
		t.Errorf("pvclocks at %#x", m.plat.systime[:4])
	}
	m.write(0x300<<pageShift+0x400, []byte("shared"))
	current := func() int64 {
		return m.call(abi.HypercallMemoryOp, abi.XenmemCurrentReservation, m.arg(f16(0, uint64(abi.DomIDSelf))))
	}
	m.wantN("the RAM below is gone", current(), ramSize>>pageShift-1)
	m.mapShared(0xfed00)
	if got := m.read(0xfed00<<pageShift+0x400, 6); string(got) != "shared" {
		t.Errorf("contents after the move: %q", got)
	}
	if m.plat.systime[0] != 0xfed00_020 {
		t.Errorf("pvclock at %#x", m.plat.systime[0])
	}
	if gpa, ok := m.d.events.VCPUInfoGPA(1); !ok || gpa != 0xfed00_040 {
		t.Errorf("vcpu_info 1 at %#x %v", gpa, ok)
	}
	// A grant frame in its place leaves the guest without shared_info.
	m.want("replace", m.addToPhysmap(abi.DomIDSelf, abi.XenmapspaceGrantTable, 0, 0xfed00), abi.OK)
	if _, ok := m.d.events.VCPUInfoGPA(0); ok || m.plat.systime[0] != 0 {
		t.Error("shared_info still in use")
	}
	// A map that fails leaves it where it was.
	m.mapShared(0x302)
	m.mem.mapErr = errors.New("no slot")
	m.want("no slot", m.addToPhysmap(abi.DomIDSelf, abi.XenmapspaceSharedInfo, 0, 0x303), abi.ENOMEM)
	m.mem.mapErr = nil
	if gpa, ok := m.d.events.VCPUInfoGPA(0); !ok || gpa != 0x302_000 {
		t.Errorf("after a failed map: vcpu_info at %#x %v", gpa, ok)
	}
}

func TestAddToPhysmapBatch(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		l := abi.AddToPhysmapBatchLayout(m.width)
		batch := func(dom abi.DomID, space, n, idxs, gfns, errs uint64) int64 {
			return m.call(abi.HypercallMemoryOp, abi.XenmemAddToPhysmapBatch, m.arg(
				f16(l.DomID, uint64(dom)), f16(l.Space, space), f16(l.Count, n),
				m.fw(l.Idxs, idxs), m.fw(l.GPFNs, gfns), m.fw(l.Errs, errs)))
		}
		idxs := m.words(0, 5, 64, 0, 3)
		gfns := m.words(0x1000, 0x400, 0x401, 0x402, 0x403)
		errs := m.words(0x2000, ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0))
		m.want("batch", batch(abi.DomIDSelf, 1, 4, idxs, gfns, errs), abi.OK)
		for i, want := range []int32{0, -int32(abi.EINVAL), 0, 0} {
			if got := int32(m.r32(errs + 4*uint64(i))); got != want {
				t.Errorf("entry %d: %d, want %d", i, got, want)
			}
		}
		if gfn, ok := m.d.grantPages.GFN(3); !ok || gfn != 0x403 {
			t.Errorf("frame 3 at %#x %v", gfn, ok)
		}
		m.want("empty", batch(abi.DomIDSelf, 1, 0, unmapped, unmapped, unmapped), abi.OK)
		m.want("gmfn_range", batch(abi.DomIDSelf, 3, 1, idxs, gfns, errs), abi.EINVAL)
		m.want("foreign", batch(abi.DomIDSelf, 4, 1, idxs, gfns, errs), abi.EPERM)
		m.want("unknown domain", batch(8, 1, 1, idxs, gfns, errs), abi.ESRCH)
		m.want("no idxs", batch(abi.DomIDSelf, 1, 1, unmapped, gfns, errs), abi.EFAULT)
		m.want("no gfns", batch(abi.DomIDSelf, 1, 1, idxs, unmapped, errs), abi.EFAULT)
		m.want("no errs", batch(abi.DomIDSelf, 1, 1, idxs, gfns, unmapped), abi.EFAULT)

		// The largest batch ends, and every entry has an answer.
		m.want("largest", batch(abi.DomIDSelf, 1, 0xffff, bufAt+0x10_0000, bufAt+0x20_0000, bufAt+0x30_0000), abi.OK)
		if got := int32(m.r32(bufAt + 0x30_0000 + 4*0xfffe)); got != -int32(abi.EAGAIN) {
			t.Errorf("last entry: %d", got)
		}
	})
}

func TestRemoveFromPhysmap(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		l := abi.RemoveFromPhysmapLayout(m.width)
		remove := func(dom abi.DomID, gfn uint64) int64 {
			return m.call(abi.HypercallMemoryOp, abi.XenmemRemoveFromPhysmap, m.arg(f16(l.DomID, uint64(dom)), m.fw(l.GPFN, gfn)))
		}
		m.mapShared(sharedGFN)
		m.want("shared_info", remove(abi.DomIDSelf, sharedGFN), abi.OK)
		if _, ok := m.d.events.VCPUInfoGPA(0); ok || m.plat.systime[0] != 0 {
			t.Error("shared_info still in use")
		}
		m.want("again", remove(abi.DomIDSelf, sharedGFN), abi.ENOENT)
		m.want("console ring", remove(abi.DomIDSelf, DefaultConsoleGFN), abi.OK)
		m.want("RAM", remove(7, 0x500), abi.OK)
		m.want("RAM again", remove(7, 0x500), abi.ENOENT)
		if !m.mem.discarded[0x500] {
			t.Error("RAM was not given back")
		}
		m.want("nothing there", remove(abi.DomIDSelf, 0xe0000), abi.ENOENT)
		m.want("far away", remove(abi.DomIDSelf, ^uint64(0)), abi.ENOENT)
		m.want("control domain", remove(0, 0x501), abi.EPERM)
		m.want("unknown domain", remove(8, 0x501), abi.ESRCH)
		m.want("no argument", m.call(abi.HypercallMemoryOp, abi.XenmemRemoveFromPhysmap, unmapped), abi.EFAULT)
	})
}

func TestBalloon(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		l := abi.MemoryReservationLayout(m.width)
		op := func(cmd, list, n, order uint64, dom abi.DomID, flags uint64) int64 {
			return m.call(abi.HypercallMemoryOp, cmd, m.arg(
				m.fw(l.ExtentStart, list), m.fw(l.NrExtents, n), f32(l.ExtentOrder, order),
				f32(l.MemFlags, flags), f16(l.DomID, uint64(dom))))
		}
		self := abi.DomIDSelf
		current := func() int64 {
			return m.call(abi.HypercallMemoryOp, abi.XenmemCurrentReservation, m.arg(f16(0, uint64(self))))
		}
		all := current()
		const down, fill, up = abi.XenmemDecreaseReservation, abi.XenmemPopulatePhysmap, abi.XenmemIncreaseReservation

		list := m.words(0, 0x600, 0x601, 0x700, 0x601)
		m.write(0x700<<pageShift, []byte("old"))
		m.wantN("release up to one gone already", op(down, list, 4, 0, self, 0), 3)
		m.wantN("current", current(), all-3)
		if string(m.read(0x700<<pageShift, 3)) == "old" {
			t.Error("released RAM kept its contents")
		}
		m.wantN("populate", op(fill, list, 4, 0, 7, 0), 3) // 0x601 is back by the fourth
		m.wantN("current", current(), all)
		m.wantN("populate what is populated", op(fill, list, 4, 0, self, 0), 0)

		big := m.words(0x100, 0x800, 0xa00)
		m.wantN("2 MiB extents", op(down, big, 2, 9, self, 0), 2)
		m.wantN("current", current(), all-1024)
		one := m.words(0x200, 0x9ff)
		m.wantN("populate one of it", op(fill, one, 1, 0, self, 0), 1)
		m.wantN("an extent that is partly there", op(fill, big, 2, 9, self, 0), 0)
		m.wantN("release it around", op(down, m.words(0x300, 0x9ff), 1, 0, self, 0), 1)
		m.wantN("populate both", op(fill, big, 2, 9, self, 0), 2)

		for _, c := range []struct {
			name                       string
			cmd, list, n, order, flags uint64
			dom                        abi.DomID
		}{
			{"order too big", down, list, 1, 10, 0, self},
			{"order overflows", down, list, 1, 64, 0, self},
			{"order absurd", fill, list, 1, 0xffff_ffff, 0, self},
			{"unknown domain", down, list, 1, 0, 0, 8},
			{"control domain", down, list, 1, 0, 0, 0},
			{"too many", down, list, ^uint64(0), 0, 0, self},
			{"increase", up, list, 1, 0, 0, self},
			{"populate on demand", fill, list, 1, 0, abi.MemfPopulateOnDemand, self},
			{"list unmapped", down, unmapped, 1, 0, 0, self},
			{"list at the end", down, ^uint64(0) - 3, 2, 0, 0, self},
			{"outside RAM", down, m.words(0x400, 0xe0000), 1, 0, 0, self},
			{"outside RAM", fill, m.words(0x400, 0xe0000), 1, 0, 0, self},
			{"over our page", fill, m.words(0x500, DefaultStoreGFN), 1, 0, 0, self},
			{"frame overflows", down, m.words(0x600, ^uint64(0)), 1, 9, 0, self},
			{"frame overflows", fill, m.words(0x600, ^uint64(0)), 1, 9, 0, self},
		} {
			m.wantN(c.name, op(c.cmd, c.list, c.n, c.order, c.dom, c.flags), 0)
		}
		m.want("no argument", m.call(abi.HypercallMemoryOp, down, unmapped), abi.EFAULT)
		m.wantN("current", current(), all)

		// A continuation counts from where it starts.
		m.wantN("start beyond the end", op(down|5<<abi.MemopExtentShift, list, 4, 0, self, 0), 5)
		m.wantN("from the second", op(down|1<<abi.MemopExtentShift, list, 3, 0, self, 0), 3)

		// An endless list costs a bounded amount of work.
		for i := range uint64(ramSize >> pageShift) {
			m.words(0x10_0000+i*uint64(m.width), 0xb00+i%64)
		}
		n := op(down, bufAt+0x10_0000, 1<<25, 0, self, 0)
		m.wantN("stops at the first hole", n, 64)
	})
}
