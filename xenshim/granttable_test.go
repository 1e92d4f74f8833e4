// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"encoding/binary"
	"testing"

	"xenvmm/xenshim/abi"
)

func TestGrantTableControl(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		op := func(cmd, ptr, n uint64) int64 { return m.call(abi.HypercallGrantTableOp, cmd, ptr, n) }
		for _, c := range []struct {
			v, count uint64
			want     abi.Errno
		}{{1, 1, abi.OK}, {2, 1, abi.ENOSYS}, {3, 1, abi.EINVAL}, {0, 1, abi.EINVAL}, {1, 0, abi.EINVAL}, {1, 2, abi.EINVAL}} {
			m.want("set_version", op(abi.GnttabopSetVersion, m.arg(f32(0, c.v)), c.count), c.want)
		}
		m.want("get_version", op(abi.GnttabopGetVersion, m.arg(f16(0, 0x7ff0)), 1), abi.OK)
		if v := m.r32(argAt + 4); v != 1 {
			t.Errorf("version %d", v)
		}
		m.want("get_version by own id", op(abi.GnttabopGetVersion, m.arg(f16(0, 7)), 1), abi.OK)
		m.want("get_version, unknown", op(abi.GnttabopGetVersion, m.arg(f16(0, 8)), 1), abi.ESRCH)

		for _, dom := range []uint64{0x7ff0, 7, 8, 0} {
			m.want("query_size", op(abi.GnttabopQuerySize, m.arg(f16(0, dom), f16(12, 0x5555)), 1), abi.OK)
			st := int16(binary.LittleEndian.Uint16(m.read(argAt+12, 2)))
			switch dom {
			case 8:
				m.wantN("unknown domain", int64(st), int64(abi.GNTSTBadDomain))
			case 0:
				m.wantN("control domain", int64(st), int64(abi.GNTSTPermissionDenied))
			default:
				if st != 0 || m.r32(argAt+4) != 1 || m.r32(argAt+8) != 64 {
					t.Errorf("size %d of %d, status %d", m.r32(argAt+4), m.r32(argAt+8), st)
				}
			}
		}
		m.want("query_size of two", op(abi.GnttabopQuerySize, argAt, 2), abi.EINVAL)
		for _, cmd := range []uint64{3, 4, 7, 9, 12, 13, 0xffff_ffff} {
			m.want("not offered", op(cmd, argAt, 1), abi.ENOSYS)
		}
		m.want("negative count", op(abi.GnttabopMapGrantRef, argAt, 0x8000_0000), abi.EINVAL)
		for _, cmd := range []uint64{0, 1, 2, 5, 6, 8, 10, 11} {
			m.want("unmapped", op(cmd, unmapped, 1), abi.EFAULT)
		}
	})
}

func TestGrantSetupTable(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		l := abi.GrantSetupLayout(m.width)
		setup := func(dom, n, list uint64) abi.GrantStatus {
			m.want("setup_table", m.call(abi.HypercallGrantTableOp, abi.GnttabopSetupTable, m.arg(
				f16(l.Dom, dom), f32(l.NrFrames, n), f16(l.Status, 0x5555), m.fw(l.FrameList, list)), 1), abi.OK)
			return abi.GrantStatus(binary.LittleEndian.Uint16(m.read(argAt+uint64(l.Status), 2)))
		}
		m.want("map", m.addToPhysmap(7, abi.XenmapspaceGrantTable, 1, 0x444), abi.OK)
		if st := setup(0x7ff0, 3, bufAt); st != abi.GNTSTOkay {
			t.Errorf("status %v", st)
		}
		all := ^uint64(0) >> (64 - m.width.Bits())
		for i, want := range []uint64{all, 0x444, all} {
			if got := word(m.read(bufAt+uint64(i)*uint64(m.width), 8), 0, m.width); got != want {
				t.Errorf("frame %d at %#x", i, got)
			}
		}
		for _, c := range []struct {
			dom, n, list uint64
			want         abi.GrantStatus
		}{
			{8, 1, bufAt, abi.GNTSTBadDomain},
			{0, 1, bufAt, abi.GNTSTPermissionDenied},
			{7, 65, bufAt, abi.GNTSTGeneralError},
			{7, 0xffff_ffff, bufAt, abi.GNTSTGeneralError},
			{7, 64, unmapped, abi.GNTSTBadVirtAddr},
			{7, 0, unmapped, abi.GNTSTOkay},
		} {
			if st := setup(c.dom, c.n, c.list); st != c.want {
				t.Errorf("%+v: status %v", c, st)
			}
		}
	})
}

func TestGrantMapAndUnmap(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		status := func(i, size, off uint64) abi.GrantStatus {
			return abi.GrantStatus(binary.LittleEndian.Uint16(m.read(bufAt+i*size+off, 2)))
		}
		cases := []struct {
			flags, dom uint64
			want       abi.GrantStatus
		}{
			{abi.GrantMapHost, 0, abi.GNTSTBadGntref},
			{abi.GrantMapHost, 7, abi.GNTSTGeneralError},
			{abi.GrantMapHost, 0x7ff0, abi.GNTSTBadDomain},
			{abi.GrantMapHost, 8, abi.GNTSTBadDomain},
			{0, 0, abi.GNTSTBadGntref},
		}
		for i, c := range cases {
			m.argAt(bufAt+uint64(i)*32, f32(8, c.flags), f16(16, c.dom), f16(18, 0x5555))
		}
		m.want("map", m.call(abi.HypercallGrantTableOp, abi.GnttabopMapGrantRef, bufAt, uint64(len(cases))), abi.OK)
		for i, c := range cases {
			if got := status(uint64(i), 32, 18); got != c.want {
				t.Errorf("map %+v: %v", c, got)
			}
		}
		m.want("unmap", m.call(abi.HypercallGrantTableOp, abi.GnttabopUnmapGrantRef, bufAt, 2), abi.OK)
		if got := status(1, 24, 20); got != abi.GNTSTBadHandle {
			t.Errorf("unmap: %v", got)
		}
	})
}

func TestGrantCopy(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		l := abi.GrantCopyLayout(m.width)
		const src, dst = 0x500, 0x501
		copyOp := func(sf, sd, so, df, dd, do, n, flags uint64) abi.GrantStatus {
			m.want("copy", m.call(abi.HypercallGrantTableOp, abi.GnttabopCopy, m.arg(
				m.fw(l.SrcFrame, sf), f16(l.SrcDom, sd), f16(l.SrcOff, so),
				m.fw(l.DstFrame, df), f16(l.DstDom, dd), f16(l.DstOff, do),
				f16(l.Len, n), f16(l.Flags, flags), f16(l.Status, 0x5555)), 1), abi.OK)
			return abi.GrantStatus(binary.LittleEndian.Uint16(m.read(argAt+uint64(l.Status), 2)))
		}
		self := uint64(abi.DomIDSelf)
		m.write(src<<pageShift+10, []byte("payload"))
		if st := copyOp(src, self, 10, dst, 7, 4089, 7, 0); st != abi.GNTSTOkay || string(m.read(dst<<pageShift+4089, 7)) != "payload" {
			t.Errorf("copy: %v", st)
		}
		for _, c := range []struct {
			name                             string
			sf, sd, so, df, dd, do, n, flags uint64
			want                             abi.GrantStatus
		}{
			{"whole page", src, self, 0, dst, self, 0, 4096, 0, abi.GNTSTOkay},
			{"nothing", src, self, 4096, dst, self, 4096, 0, 0, abi.GNTSTOkay},
			{"source leaves the page", src, self, 1, dst, self, 0, 4096, 0, abi.GNTSTBadCopyArg},
			{"destination leaves the page", src, self, 0, dst, self, 4095, 2, 0, abi.GNTSTBadCopyArg},
			{"offsets at their largest", src, self, 0xffff, dst, self, 0xffff, 0xffff, 0, abi.GNTSTBadCopyArg},
			{"no such source", 0xe0000, self, 0, dst, self, 0, 1, 0, abi.GNTSTBadPage},
			{"no such destination", src, self, 0, ^uint64(0), self, 0, 1, 0, abi.GNTSTBadPage},
			{"another's frame", src, 0, 0, dst, self, 0, 1, 0, abi.GNTSTPermissionDenied},
			{"to another's frame", src, self, 0, dst, 8, 0, 1, 0, abi.GNTSTPermissionDenied},
			{"from a reference of dom0", 5, 0, 0, dst, self, 0, 1, 1, abi.GNTSTBadGntref},
			{"from a reference of nobody", 5, 8, 0, dst, self, 0, 1, 1, abi.GNTSTBadDomain},
			{"to an own reference", src, self, 0, 5, self, 0, 1, 2, abi.GNTSTGeneralError},
			{"to an own reference by id", src, self, 0, 5, 7, 0, 1, 2, abi.GNTSTGeneralError},
		} {
			if st := copyOp(c.sf, c.sd, c.so, c.df, c.dd, c.do, c.n, c.flags); st != c.want {
				t.Errorf("%s: %v, want %v", c.name, st, c.want)
			}
		}
	})
}

func TestGrantBatchAnswersEveryEntryOnce(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		l := abi.GrantCopyLayout(m.width)
		const n = 4096
		for i := range uint64(n) {
			m.argAt(bufAt+i*uint64(l.Size), f16(l.Status, 0x5555))
		}
		m.want("copy", m.call(abi.HypercallGrantTableOp, abi.GnttabopCopy, bufAt, n), abi.OK)
		for i := range uint64(n) {
			if st := abi.GrantStatus(binary.LittleEndian.Uint16(m.read(bufAt+i*uint64(l.Size)+uint64(l.Status), 2))); st != abi.GNTSTPermissionDenied {
				t.Fatalf("entry %d: %v", i, st)
			}
		}
		m.argAt(bufAt, f16(l.Status, 0x5555))
		m.want("more than can be done", m.call(abi.HypercallGrantTableOp, abi.GnttabopCopy, bufAt, workBudget+1), abi.E2BIG)
		m.want("absurd", m.call(abi.HypercallGrantTableOp, abi.GnttabopCopy, bufAt, 0x7fff_ffff), abi.E2BIG)
		if binary.LittleEndian.Uint16(m.read(bufAt+uint64(l.Status), 2)) != 0x5555 {
			t.Error("a refused batch wrote a status")
		}
	})
}

func TestGrantSwap(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		swap := func(a, b uint64) abi.GrantStatus {
			m.want("swap", m.call(abi.HypercallGrantTableOp, abi.GnttabopSwapGrantRef, m.arg(f32(0, a), f32(4, b), f16(8, 0x5555)), 1), abi.OK)
			return abi.GrantStatus(binary.LittleEndian.Uint16(m.read(argAt+8, 2)))
		}
		set := func(ref int, flags, dom uint16, frame uint32) {
			var b [8]byte
			putU16(b[:], 0, flags)
			putU16(b[:], 2, dom)
			putU32(b[:], 4, frame)
			if err := m.d.grantPages.WriteAt(b[:], 0, uint32(ref)*8); err != nil {
				t.Fatal(err)
			}
		}
		get := func(ref int) uint64 {
			var b [8]byte
			_ = m.d.grantPages.ReadAt(b[:], 0, uint32(ref)*8)
			return u64(b[:], 0)
		}
		set(10, abi.GTFPermitAccess, 0, 0x123)
		set(11, abi.GTFPermitAccess|abi.GTFReadonly, 3, 0x456)
		a, b := get(10), get(11)
		if st := swap(10, 11); st != abi.GNTSTOkay || get(10) != b || get(11) != a {
			t.Errorf("%v: %#x %#x", st, get(10), get(11))
		}
		if st := swap(10, 10); st != abi.GNTSTOkay || get(10) != b {
			t.Errorf("with itself: %v", st)
		}
		set(12, abi.GTFPermitAccess|abi.GTFReading, 0, 1)
		if st := swap(12, 10); st != abi.GNTSTEagain {
			t.Errorf("in use: %v", st)
		}
		if st := swap(10, 12); st != abi.GNTSTEagain || get(10) != b {
			t.Errorf("in use: %v, other entry %#x", st, get(10))
		}
		for _, ref := range []uint64{0xffff_ffff, 512, 64 * 512} {
			if st := swap(0, ref); st != abi.GNTSTBadGntref {
				t.Errorf("swap 0, %#x: %v", ref, st)
			}
			if st := swap(ref, 0); st != abi.GNTSTBadGntref {
				t.Errorf("swap %#x, 0: %v", ref, st)
			}
		}
	})
}

func TestReservedGrantsAreFilledIn(t *testing.T) {
	m := newMachine(t, abi.Width64)
	m.want("map", m.addToPhysmap(abi.DomIDSelf, abi.XenmapspaceGrantTable, 0, 0x444), abi.OK)
	if e := m.r64(0x444_000); e != DefaultConsoleGFN<<32|abi.GTFPermitAccess {
		t.Errorf("console entry %#x", e)
	}
	if e := m.r64(0x444_008); e != DefaultStoreGFN<<32|abi.GTFPermitAccess {
		t.Errorf("xenstore entry %#x", e)
	}
}
