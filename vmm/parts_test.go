// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"xenvmm/vmm/kvm"
	"xenvmm/vmm/memory"
	"xenvmm/vmm/vcpu"
	"xenvmm/xenshim"
)

func TestHostPagesAreNotLeftByAnyOffset(t *testing.T) {
	mem, err := memory.New(memory.Config{Size: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	p, err := pageAllocator{mem}.NewPages("test", 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WriteAt([]byte("end"), 1, 4093); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 3)
	if err := p.ReadAt(got, 1, 4093); err != nil || !bytes.Equal(got, []byte("end")) {
		t.Errorf("read %q, %v", got, err)
	}
	for _, c := range []struct {
		idx, n int
		off    uint32
	}{{-1, 1, 0}, {2, 1, 0}, {0, 2, 4095}, {0, 1, 4096}, {0, 4, ^uint32(0)}, {1, 5000, 0}, {1 << 40, 1, 0}} {
		b := make([]byte, c.n)
		if p.ReadAt(b, c.idx, c.off) == nil || p.WriteAt(b, c.idx, c.off) == nil {
			t.Errorf("%d bytes at offset %#x of page %d were reached", c.n, c.off, c.idx)
		}
	}
	if err := p.Store32(0, 8, 7); err != nil {
		t.Fatal(err)
	}
	if ok, err := p.CompareAndSwap32(0, 8, 7, 9); err != nil || !ok {
		t.Errorf("exchange: %v, %v", ok, err)
	}
	if v, err := p.Load32(0, 8); err != nil || v != 9 {
		t.Errorf("loaded %d, %v", v, err)
	}
	if _, err := p.Load32(0, 4094); err == nil {
		t.Error("a word across the page's end was read")
	}
	if err := p.Map(1, 0xfeff8); err != nil {
		t.Fatal(err)
	}
	if gfn, ok := p.GFN(1); !ok || gfn != 0xfeff8 {
		t.Errorf("mapped at %#x, %v", gfn, ok)
	}
	if err := p.Unmap(1); err != nil {
		t.Error(err)
	}
}

type fakeClock struct {
	d   kvm.ClockData
	err error
}

func (f *fakeClock) GetClock() (kvm.ClockData, error) { return f.d, f.err }

func TestWallClockIsTheTimeAtGuestTimeZero(t *testing.T) {
	f := &fakeClock{d: kvm.ClockData{Clock: 5e9, Flags: kvm.ClockRealtime, Realtime: 105e9 + 7}}
	c := guestClock{f}
	if sec, nsec := c.Wall(); sec != 100 || nsec != 7 {
		t.Errorf("wall clock %d.%d, want 100.7", sec, nsec)
	}
	f.d.Realtime = 1e9 // the host's clock is before its own boot
	if sec, nsec := c.Wall(); sec != 0 || nsec != 0 {
		t.Errorf("wall clock %d.%d, want 0", sec, nsec)
	}
	f.d.Flags = 0 // a kernel that does not report both
	sec, _ := c.Wall()
	if want := time.Now().Add(-5 * time.Second).Unix(); int64(sec) < want-2 || int64(sec) > want+2 {
		t.Errorf("wall clock %d, want about %d", sec, want)
	}
	f.err = errors.New("closed")
	if c.Now() != 0 {
		t.Error("a closed VM has a time")
	}
}

// msrKVM records the MSRs set; everything else is not called.
type msrKVM struct {
	vcpu.KVM
	set []kvm.MSREntry
}

func (m *msrKVM) SetMSRs(e []kvm.MSREntry) error { m.set = append(m.set, e...); return nil }

func TestTimeAreasAreTakenOverOnceByTheirOwnVCPU(t *testing.T) {
	s := newSystemTimes(3)
	s.set(1, 0x5020, true)
	s.set(1, 0x6020, true) // the last one counts
	s.set(2, 0x7020, false)
	var others []int
	s.others(2, func(v int) { others = append(others, v) })
	if len(others) != 1 || others[0] != 1 {
		t.Errorf("others of vcpu 2 with changes: %v, want [1]", others)
	}
	k := &msrKVM{}
	for range 2 {
		for i := range 3 {
			if err := s.apply(i, k); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []kvm.MSREntry{{Index: kvm.MSRSystemTime, Data: 0x6021}, {Index: kvm.MSRSystemTime, Data: 0}}
	if len(k.set) != 2 || k.set[0] != want[0] || k.set[1] != want[1] {
		t.Errorf("set %+v, want %+v", k.set, want)
	}
	s.others(-1, func(v int) { t.Errorf("vcpu %d still has a change", v) })
}

func TestSegmentsOfVCPUContexts(t *testing.T) {
	code := segment(xenshim.Segment{Limit: 0xffffffff, AR: 0xa9b}, 8)
	if code.Typ != 0xb || code.S != 1 || code.DPL != 0 || code.Present != 1 || code.L != 1 || code.DB != 0 || code.G != 1 || code.Selector != 8 || code.Unusable != 0 {
		t.Errorf("64-bit code segment: %+v", code)
	}
	if s := segment(xenshim.Segment{AR: 0x1b}, 0); s.Unusable != 1 {
		t.Errorf("a segment that is not present is usable: %+v", s)
	}
	tss := segment(xenshim.Segment{Limit: 0x67, AR: 0x8b}, 0)
	if tss.Typ != 0xb || tss.S != 0 || tss.Limit != 0x67 {
		t.Errorf("TSS: %+v", tss)
	}
}
