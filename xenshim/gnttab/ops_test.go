// SPDX-License-Identifier: Apache-2.0

package gnttab

import (
	"testing"

	"xenvmm/xenshim/abi"
	"xenvmm/xenshim/internal/sharedpage"
)

func TestVersions(t *testing.T) {
	f := newFixture(t, 4)
	for _, c := range []struct {
		v    uint32
		want abi.Errno
	}{{0, abi.EINVAL}, {1, abi.OK}, {2, abi.ENOSYS}, {3, abi.EINVAL}, {1<<32 - 1, abi.EINVAL}} {
		v, e := f.SetVersion(c.v)
		if e != c.want || (e == abi.OK && v != 1) {
			t.Errorf("set_version(%d) = %d, %v; want %v", c.v, v, e, c.want)
		}
	}
	for _, c := range []struct {
		dom  abi.DomID
		want abi.Errno
	}{{7, abi.OK}, {abi.DomIDSelf, abi.OK}, {0, abi.EPERM}, {8, abi.ESRCH}, {abi.DomIDXen, abi.ESRCH}} {
		if v, e := f.GetVersion(c.dom); e != c.want || (e == abi.OK && v != 1) {
			t.Errorf("get_version(%d) = %d, %v; want %v", c.dom, v, e, c.want)
		}
	}
}

func TestSetVersionIsBusyWithMappings(t *testing.T) {
	f := newFixture(t, 4)
	f.grant(8, abi.GTFPermitAccess, 0, 16)
	f.grant(7, abi.GTFPermitAccess, 0, 16)
	reserved, s := f.Map(7, false)
	if s != abi.GNTSTOkay {
		t.Fatal(s)
	}
	if _, e := f.SetVersion(1); e != abi.OK {
		t.Fatalf("a mapped reserved entry: %v", e)
	}
	m, s := f.Map(8, false)
	if s != abi.GNTSTOkay {
		t.Fatal(s)
	}
	if _, e := f.SetVersion(1); e != abi.EBUSY {
		t.Fatalf("a mapped entry: %v", e)
	}
	m.Unmap()
	reserved.Unmap()
	if _, e := f.SetVersion(1); e != abi.OK {
		t.Fatalf("after unmap: %v", e)
	}
}

func TestSizeGrowsToTheMaximum(t *testing.T) {
	f := newFixture(t, 4)
	for _, c := range []struct {
		n      uint32
		want   abi.Errno
		frames uint32
	}{{0, abi.OK, 1}, {3, abi.OK, 3}, {2, abi.OK, 3}, {4, abi.OK, 4}, {5, abi.EINVAL, 4}, {1<<32 - 1, abi.EINVAL, 4}} {
		if e := f.Grow(c.n); e != c.want {
			t.Errorf("grow(%d) = %v, want %v", c.n, e, c.want)
		}
		if q, s := f.QuerySize(abi.DomIDSelf); s != abi.GNTSTOkay || q != (Size{c.frames, 4}) || f.Frames() != int(c.frames) {
			t.Errorf("after grow(%d): %+v, %v", c.n, q, s)
		}
	}
	for _, c := range []struct {
		dom  abi.DomID
		want abi.GrantStatus
	}{{7, abi.GNTSTOkay}, {0, abi.GNTSTPermissionDenied}, {8, abi.GNTSTBadDomain}} {
		if _, s := f.QuerySize(c.dom); s != c.want {
			t.Errorf("query_size(%d) = %v, want %v", c.dom, s, c.want)
		}
		if s := f.SetupTable(c.dom, 4); s != c.want {
			t.Errorf("setup_table(%d) = %v, want %v", c.dom, s, c.want)
		}
	}
	if s := f.SetupTable(7, 5); s != abi.GNTSTGeneralError {
		t.Errorf("setup_table of too many frames: %v", s)
	}
}

func TestReservedEntries(t *testing.T) {
	f := newFixture(t, 2)
	check := func() {
		t.Helper()
		for ref, gfn := range map[uint32]uint32{abi.GrantReservedConsole: 0xfeff8, abi.GrantReservedXenstore: 0xfeff9} {
			w, _ := f.mem.Load32(0, ref*8)
			g, _ := f.mem.Load32(0, ref*8+4)
			if w != abi.GTFPermitAccess || g != gfn {
				t.Errorf("entry %d: %#x %#x", ref, w, g)
			}
		}
	}
	check()
	f.grant(0, 0, 9, 1)
	f.grant(600, abi.GTFPermitAccess, 0, 16)
	f.Grow(2)
	if err := f.Reset(); err != nil {
		t.Fatal(err)
	}
	check()
	if f.Frames() != 1 {
		t.Errorf("%d frames after reset", f.Frames())
	}
	f.Grow(2)
	if f.flags(600) != 0 {
		t.Error("an entry survived the reset")
	}
}

func TestNewRefusesBadConfigurations(t *testing.T) {
	mem := &frames{pages: make([]sharedpage.Page, 1)}
	for name, c := range map[string]Config{
		"no memory":   {},
		"negative":    {Memory: mem, MaxFrames: -1},
		"large frame": {Memory: mem, MaxFrames: 1, StoreGFN: 1 << 32},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
