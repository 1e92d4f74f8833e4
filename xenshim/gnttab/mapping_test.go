// SPDX-License-Identifier: Apache-2.0

package gnttab

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"xenvmm/xenshim/abi"
)

func TestMapChecksTheEntry(t *testing.T) {
	const permit = abi.GTFPermitAccess
	for _, c := range []struct {
		name  string
		ref   uint32
		flags uint16
		dom   abi.DomID
		frame uint32
		write bool
		want  abi.GrantStatus
	}{
		{"read", 8, permit, 0, 16, false, abi.GNTSTOkay},
		{"write", 9, permit, 0, 23, true, abi.GNTSTOkay},
		{"last entry", 511, permit, 0, 16, true, abi.GNTSTOkay},
		{"read of a readonly entry", 8, permit | abi.GTFReadonly, 0, 16, false, abi.GNTSTOkay},
		{"write of a readonly entry", 8, permit | abi.GTFReadonly, 0, 16, true, abi.GNTSTGeneralError},
		{"invalid", 8, 0, 0, 16, false, abi.GNTSTGeneralError},
		{"transfer", 8, abi.GTFAcceptTransfer, 0, 16, false, abi.GNTSTGeneralError},
		{"transitive", 8, abi.GTFTransitive, 0, 16, false, abi.GNTSTGeneralError},
		{"sub page", 8, permit | abi.GTFSubPage, 0, 16, false, abi.GNTSTGeneralError},
		{"other domain", 8, permit, 3, 16, false, abi.GNTSTGeneralError},
		{"below RAM", 8, permit, 0, 15, false, abi.GNTSTBadPage},
		{"beyond RAM", 8, permit, 0, 24, false, abi.GNTSTBadPage},
		{"highest frame", 8, permit, 0, 1<<32 - 1, false, abi.GNTSTBadPage},
	} {
		f := newFixture(t, 2)
		f.grant(c.ref, c.flags, c.dom, c.frame)
		m, s := f.Map(c.ref, c.write)
		if s != c.want {
			t.Errorf("%s: %v, want %v", c.name, s, c.want)
		}
		if s == abi.GNTSTOkay {
			use := uint16(abi.GTFReading)
			if c.write {
				use |= abi.GTFWriting
			}
			if got := f.flags(c.ref); got != c.flags|use {
				t.Errorf("%s: flags %#x in use", c.name, got)
			}
			m.Unmap()
		}
		if got := f.flags(c.ref); got != c.flags || f.Mapped() != 0 {
			t.Errorf("%s: flags %#x, %d mapped afterwards", c.name, got, f.Mapped())
		}
	}
}

func TestReferencesBeyondTheTable(t *testing.T) {
	f := newFixture(t, 2)
	for _, ref := range []uint32{512, 1023, 1024, 1 << 31, 1<<32 - 1} {
		if _, s := f.Map(ref, false); s != abi.GNTSTBadGntref {
			t.Errorf("map %d: %v", ref, s)
		}
		if s := f.CopyTo(ref, []byte{1}, 0); s != abi.GNTSTBadGntref {
			t.Errorf("copy %d: %v", ref, s)
		}
	}
	f.Grow(2)
	f.grant(1023, abi.GTFPermitAccess, 0, 16)
	if s := f.CopyTo(1023, []byte{1}, 0); s != abi.GNTSTOkay {
		t.Errorf("last entry of a grown table: %v", s)
	}
}

// XSA-500: what is pinned stays, and the frame is read once.
func TestGuestRewritesAMappedEntry(t *testing.T) {
	f := newFixture(t, 1)
	f.mem.loads = map[uint32]int{}
	copy(f.ram.b[:], "pinned")
	copy(f.ram.b[abi.PageSize:], "other!")
	f.grant(8, abi.GTFPermitAccess, 0, 16)
	m, s := f.Map(8, true)
	if s != abi.GNTSTOkay {
		t.Fatal(s)
	}
	f.grant(8, abi.GTFPermitAccess, 5, 17)
	m2, s := f.Map(8, false)
	if s != abi.GNTSTOkay {
		t.Fatal(s)
	}
	for _, m := range []*Mapping{m, m2} {
		got := make([]byte, 6)
		if err := m.ReadAt(got, 0); err != nil || string(got) != "pinned" || m.GFN() != 16 {
			t.Errorf("read %q, %v", got, err)
		}
	}
	if f.mem.loads[8] != 1 {
		t.Errorf("frame read %d times", f.mem.loads[8])
	}
	m.Unmap()
	m2.Unmap()
	if got := f.flags(8); got != abi.GTFPermitAccess {
		t.Errorf("flags %#x after unmap", got)
	}
	// A new pin looks at the entry anew: domain 5 isn't the backend.
	if _, s := f.Map(8, false); s != abi.GNTSTGeneralError {
		t.Errorf("map of the rewritten entry: %v", s)
	}
}

func TestReadonlySetBetweenLookAndPin(t *testing.T) {
	f := newFixture(t, 1)
	f.grant(8, abi.GTFPermitAccess, 0, 16)
	once := sync.Once{}
	f.mem.hook = func(int, uint32) {
		once.Do(func() { f.grant(8, abi.GTFPermitAccess|abi.GTFReadonly, 0, 16) })
	}
	if _, s := f.Map(8, true); s != abi.GNTSTGeneralError {
		t.Fatalf("write pin of an entry just made readonly: %v", s)
	}
	if got := f.flags(8); got != abi.GTFPermitAccess|abi.GTFReadonly {
		t.Fatalf("flags %#x", got)
	}
	m, s := f.Map(8, false)
	if s != abi.GNTSTOkay {
		t.Fatal(s)
	}
	if _, s := f.Map(8, true); s != abi.GNTSTGeneralError {
		t.Errorf("second, writable pin: %v", s)
	}
	m.Unmap()
}

func TestUnstableEntryIsGivenUp(t *testing.T) {
	f := newFixture(t, 1)
	f.grant(8, abi.GTFPermitAccess, 0, 16)
	n := 0
	f.mem.hook = func(int, uint32) {
		n++
		f.grant(8, abi.GTFPermitAccess|uint16(n&1)<<5, 0, 16)
	}
	if _, s := f.Map(8, false); s != abi.GNTSTGeneralError || n != pinRetries {
		t.Fatalf("%v after %d attempts", s, n)
	}
}

func TestUseBitsFollowTheLastUser(t *testing.T) {
	f := newFixture(t, 1)
	f.grant(8, abi.GTFPermitAccess, 0, 16)
	var ms []*Mapping
	for _, write := range []bool{false, true, true} {
		m, s := f.Map(8, write)
		if s != abi.GNTSTOkay {
			t.Fatal(s)
		}
		ms = append(ms, m)
	}
	for i, want := range []uint16{abi.GTFReading | abi.GTFWriting, abi.GTFReading, 0} {
		if s := ms[2-i].Unmap(); s != abi.GNTSTOkay {
			t.Fatal(s)
		}
		if got := f.flags(8) &^ abi.GTFPermitAccess; got != want {
			t.Errorf("after %d unmaps: %#x, want %#x", i+1, got, want)
		}
	}
	if s := ms[0].Unmap(); s != abi.GNTSTBadHandle {
		t.Errorf("second unmap: %v", s)
	}
	if err := ms[0].ReadAt(make([]byte, 1), 0); !errors.Is(err, ErrUnmapped) {
		t.Errorf("use after unmap: %v", err)
	}
}

func TestAccessStaysInThePage(t *testing.T) {
	f := newFixture(t, 1)
	f.grant(8, abi.GTFPermitAccess, 0, 16)
	m, _ := f.Map(8, false)
	defer m.Unmap()
	for _, c := range []struct {
		n   int
		off uint32
		ok  bool
	}{{abi.PageSize, 0, true}, {1, 4095, true}, {0, 4096, true}, {1, 4096, false}, {2, 4095, false},
		{abi.PageSize + 1, 0, false}, {8, 1<<32 - 4, false}} {
		if err := m.ReadAt(make([]byte, c.n), c.off); (err == nil) != c.ok || (err != nil && !errors.Is(err, ErrRange)) {
			t.Errorf("read %d at %#x: %v", c.n, c.off, err)
		}
		want := abi.GNTSTOkay
		if !c.ok {
			want = abi.GNTSTBadCopyArg
		}
		if s := f.CopyFrom(8, make([]byte, c.n), c.off); s != want {
			t.Errorf("copy %d at %#x: %v", c.n, c.off, s)
		}
	}
	if err := m.WriteAt([]byte{1}, 0); !errors.Is(err, ErrReadonly) {
		t.Errorf("write to a readonly mapping: %v", err)
	}
}

func TestCopyRoundTrip(t *testing.T) {
	f := newFixture(t, 1)
	f.grant(8, abi.GTFPermitAccess, 0, 20)
	want := []byte("to the guest")
	if s := f.CopyTo(8, want, 100); s != abi.GNTSTOkay {
		t.Fatal(s)
	}
	got := make([]byte, len(want))
	if s := f.CopyFrom(8, got, 100); s != abi.GNTSTOkay || !bytes.Equal(got, want) {
		t.Fatalf("%q, %v", got, s)
	}
	if !bytes.Equal(f.ram.b[4*abi.PageSize+100:][:len(want)], want) || f.Mapped() != 0 {
		t.Fatal("not where it was granted, or still mapped")
	}
}

// A reset must not zero the counts of mappings in use, nor may giving those
// back touch entries of the new table.
func TestResetKeepsLiveMappings(t *testing.T) {
	f := newFixture(t, 1)
	f.grant(8, abi.GTFPermitAccess, 0, 16)
	copy(f.ram.b[:], "old")
	copy(f.ram.b[abi.PageSize:], "new")
	old, _ := f.Map(8, true)
	if err := f.Reset(); err != nil {
		t.Fatal(err)
	}
	if f.Mapped() != 1 {
		t.Fatalf("%d mapped", f.Mapped())
	}
	if _, e := f.SetVersion(1); e != abi.OK {
		t.Fatalf("set_version after reset: %v", e)
	}
	f.grant(8, abi.GTFPermitAccess, 0, 17)
	m, s := f.Map(8, true)
	if s != abi.GNTSTOkay {
		t.Fatal(s)
	}
	for want, m := range map[string]*Mapping{"old": old, "new": m} {
		got := make([]byte, 3)
		if err := m.ReadAt(got, 0); err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	old.Unmap()
	if got := f.flags(8); got != abi.GTFPermitAccess|abi.GTFReading|abi.GTFWriting {
		t.Errorf("flags %#x after the old mapping went", got)
	}
	m.Unmap()
	if f.Mapped() != 0 || f.flags(8) != abi.GTFPermitAccess {
		t.Errorf("%d mapped, flags %#x", f.Mapped(), f.flags(8))
	}
}

func TestGuestRacesBackends(t *testing.T) {
	f := newFixture(t, 1)
	var backends, guest sync.WaitGroup
	stop := make(chan struct{})
	guest.Go(func() {
		for i := uint32(0); ; i++ {
			select {
			case <-stop:
				return
			default:
				f.grant(8+i%4, uint16(i), abi.DomID(i>>4&1), 14+i%12)
			}
		}
	})
	for range 3 {
		backends.Go(func() {
			buf := make([]byte, 16)
			for i := range uint32(5000) {
				if m, s := f.Map(8+i%4, i&8 != 0); s == abi.GNTSTOkay {
					gfn := m.GFN()
					if gfn < 16 || gfn > 23 {
						t.Errorf("mapped frame %#x", gfn)
					}
					if err := m.ReadAt(buf, 0); err != nil {
						t.Error(err)
					}
					if m.GFN() != gfn {
						t.Error("frame changed while mapped")
					}
					m.Unmap()
				}
			}
		})
	}
	backends.Wait()
	close(stop)
	guest.Wait()
	if f.Mapped() != 0 || len(f.pins) != 0 {
		t.Fatalf("%d mappings, %d pins left", f.Mapped(), len(f.pins))
	}
}
