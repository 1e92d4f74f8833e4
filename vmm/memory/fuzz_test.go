// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"math"
	"testing"
)

// FuzzAccess gives every entry point that takes numbers of the guest arbitrary
// ones: each answers or refuses, and agrees with the others about what exists.
func FuzzAccess(f *testing.F) {
	for _, gpa := range []uint64{0, 4095, 1<<20 - 1, 1 << 20, LowLimit, 0xfeff8000, HighBase - 4, MaxGPA, math.MaxUint64} {
		f.Add(gpa, uint64(8), gpa/PageSize, 0)
	}
	f.Add(uint64(1)<<52+0x1000, uint64(math.MaxUint64), uint64(1)<<52, -1)
	m, err := New(Config{Size: 1 << 20, MaxSlots: 8})
	must(f, err)
	f.Cleanup(func() { _ = m.Close() })
	p, err := m.NewPages("pages", 2)
	must(f, err)
	must(f, p.WriteAt([]byte{0xaa}, PageSize))
	f.Fuzz(func(t *testing.T, gpa, n, gfn uint64, idx int) {
		b := make([]byte, n%(3*PageSize))
		read := m.ReadAt(b, gpa)
		if write := m.WriteAt(b, gpa); (read == nil) != (write == nil) {
			t.Errorf("read %v, write %v", read, write)
		}
		if read != nil && !errors.Is(read, ErrNoMemory) {
			t.Error(read)
		}
		word, err := m.LoadUint32(gpa)
		if err == nil {
			if ok, err := m.CompareAndSwapUint32(gpa, word, word); err != nil || !ok {
				t.Errorf("compare and swap: %v %v", ok, err)
			}
		}
		if _, err := m.Resolve(gpa, n); err == nil && n <= uint64(len(b)) && read != nil {
			t.Error("resolved what cannot be read:", read)
		}
		_ = p.ReadAt(b, gpa)
		_, _ = p.LoadUint64(gpa)
		m.MarkDirty(gpa, n)
		_ = m.Remap(gpa, n%(1<<20))
		_ = m.Discard(gfn, n%16)
		if err := m.MapPage(p, idx, gfn); err == nil {
			if at, ok := m.PageGFN(p, idx); !ok || at != gfn {
				t.Errorf("page at %#x %v, want %#x", at, ok, gfn)
			}
			if err := m.ReadAt(make([]byte, PageSize), gfn*PageSize); err != nil {
				t.Error(err)
			}
			_ = m.Rehome(gfn)
			must(t, m.UnmapPage(p, idx))
		}
		if s, err := m.AddSlot("slot", gpa, n%(1<<24), 0); err == nil {
			_ = s.Move(gfn * PageSize)
			_ = s.Resize(n % (1 << 23))
			must(t, s.Delete())
		}
	})
}
