// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

// tableMemory is a small memory for page tables: the rest of the address space
// has none.
type tableMemory struct {
	b     []byte
	loads int
}

func (m *tableMemory) ReadAt(p []byte, gpa uint64) error {
	if gpa > uint64(len(m.b)) || uint64(len(p)) > uint64(len(m.b))-gpa {
		return errNoMemory
	}
	copy(p, m.b[gpa:])
	return nil
}
func (m *tableMemory) WriteAt(p []byte, gpa uint64) error { return errNoMemory }
func (m *tableMemory) Discard(gfn, n uint64) error        { return errNoMemory }

func (m *tableMemory) LoadUint32(gpa uint64) (uint32, error) {
	m.loads++
	var p [4]byte
	err := m.ReadAt(p[:], gpa)
	return binary.LittleEndian.Uint32(p[:]), err
}

func (m *tableMemory) LoadUint64(gpa uint64) (uint64, error) {
	m.loads++
	var p [8]byte
	err := m.ReadAt(p[:], gpa)
	return binary.LittleEndian.Uint64(p[:]), err
}

// slowWalk is an independent model: it lists the levels of a mode as data
// and collects the entries first, then judges them.
func slowWalk(m *tableMemory, s *CPUState, la uint64, write bool) (uint64, bool) {
	type level struct {
		low, bits uint // linear address bits that index the table
		big       bool // an entry may be a page
		rights    bool // the entry has R/W and U/S
	}
	size, root := uint64(8), s.CR3
	var levels []level
	switch {
	case s.CR0&(cr0PG|cr0PE) != cr0PG|cr0PE:
		return la % (1 << 32), true
	case s.EFER&eferLMA != 0:
		if !s.CSLong {
			la %= 1 << 32
		}
		top := uint(48)
		if s.CR4&cr4LA57 != 0 {
			top = 57
			levels = append(levels, level{48, 9, false, true})
		}
		if h := la >> (top - 1); h != 0 && h != ^uint64(0)>>(top-1) {
			return 0, false
		}
		root &= pteAddrMask
		levels = append(levels, level{39, 9, false, true}, level{30, 9, true, true}, level{21, 9, true, true}, level{12, 9, true, true})
	case s.CR4&cr4PAE != 0:
		la %= 1 << 32
		root &= 0xffffffe0
		levels = append(levels, level{30, 2, false, false}, level{21, 9, true, true}, level{12, 9, true, true})
	default:
		la %= 1 << 32
		size = 4
		root &= 0xfffff000
		levels = append(levels, level{22, 10, s.CR4&cr4PSE != 0, true}, level{12, 10, true, true})
	}
	user, writable := true, true
	for i, l := range levels {
		raw := make([]byte, size)
		if m.ReadAt(raw, root+(la>>l.low)%(1<<l.bits)*size) != nil {
			return 0, false
		}
		var e uint64
		if size == 4 {
			e = uint64(binary.LittleEndian.Uint32(raw))
		} else {
			e = binary.LittleEndian.Uint64(raw)
		}
		if e&1 == 0 {
			return 0, false
		}
		if l.rights {
			user = user && e&4 != 0
			writable = writable && e&2 != 0
			if size == 8 && e>>63 != 0 && s.EFER&eferNXE == 0 {
				return 0, false
			}
		}
		last := i == len(levels)-1
		if !last && l.rights && e&0x80 != 0 {
			if !l.big {
				if size == 4 { // PSE is off: the bit means nothing
					root = e & 0xfffff000
					continue
				}
				return 0, false
			}
			if size == 4 {
				if e&(1<<21) != 0 {
					return 0, false
				}
				e = e&0xffc00000 | (e>>13&0xff)<<32
			}
			if size == 8 && e&pteAddrMask%(1<<l.low)&^0x1000 != 0 {
				return 0, false
			}
			return slowAllowed(s, e&pteAddrMask>>l.low<<l.low|la%(1<<l.low), user, writable, write)
		}
		root = e & pteAddrMask
		if last {
			return slowAllowed(s, root|la%4096, user, writable, write)
		}
	}
	return 0, false
}

func slowAllowed(s *CPUState, gpa uint64, user, writable, write bool) (uint64, bool) {
	if write && !writable && s.CR0&cr0WP != 0 {
		return gpa, false
	}
	if user && s.CR4&cr4SMAP != 0 && s.RFLAGS&rflagsAC == 0 {
		return gpa, false
	}
	return gpa, true
}

func TestWalkAgainstModel(t *testing.T) {
	const size = 64 << 10
	rapid.Check(t, func(t *rapid.T) {
		m := &tableMemory{b: make([]byte, size)}
		// Mostly sensible entries: present, pointing into the tables or near them.
		n := rapid.IntRange(1, 400).Draw(t, "entries")
		seed := rapid.Uint64().Draw(t, "seed")
		next := func() uint64 { // xorshift: one draw feeds many entries
			seed ^= seed << 13
			seed ^= seed >> 7
			seed ^= seed << 17
			return seed
		}
		for range n {
			e := next()
			switch next() % 4 {
			case 0, 1, 2:
				e = e&0xfff&^0x80 | 1 | next()%16<<12 | next()%4*0x80&^0x100
			}
			if next()%2 == 0 {
				binary.LittleEndian.PutUint64(m.b[next()%(size/8)*8:], e)
			} else { // a whole table of it, so that any index hits
				at := next() % 16 << 12
				for i := uint64(0); i < pageSize; i += 8 {
					binary.LittleEndian.PutUint64(m.b[at+i:], e|e<<32)
				}
			}
		}
		s := &CPUState{CR0: cr0PE, CR3: next() % 16 << 12, CSLong: next()%2 == 0}
		for _, b := range []struct {
			reg *uint64
			bit uint64
		}{
			{&s.CR0, cr0PG}, {&s.CR0, cr0PG}, {&s.CR0, cr0WP}, {&s.CR4, cr4PAE}, {&s.CR4, cr4PSE}, {&s.CR4, cr4LA57},
			{&s.CR4, cr4SMAP}, {&s.RFLAGS, rflagsAC}, {&s.EFER, eferNXE}, {&s.EFER, eferLMA},
		} {
			if next()%2 == 0 {
				*b.reg |= b.bit
			}
		}
		for range 50 {
			la := next()
			switch next() % 4 {
			case 0:
				la %= 1 << 32
			case 1:
				la = uint64(int64(la) >> 17)
			case 2:
				la &= 0x0000_7fff_ffff_ffff
			}
			write := next()%2 == 0
			m.loads = 0
			got, ok := translate(m, s, la, write)
			want, wantOK := slowWalk(m, s, la, write)
			if ok != wantOK || ok && got != want {
				t.Fatalf("translate(%+v, %#x, %v) = %#x %v, model %#x %v", *s, la, write, got, ok, want, wantOK)
			}
			if m.loads > 5 {
				t.Fatalf("%d loads in one walk", m.loads)
			}
		}
	})
}

func TestWalkModes(t *testing.T) {
	m := &tableMemory{b: make([]byte, 64<<10)}
	e64 := func(at, v uint64) { binary.LittleEndian.PutUint64(m.b[at:], v) }
	e32 := func(at uint64, v uint32) { binary.LittleEndian.PutUint32(m.b[at:], v) }
	const rw, p = ptePresent | pteWrite, ptePresent
	// 4-level at 0x1000, with a 5th level at 0x5000.
	e64(0x1000, 0x2000|rw)
	e64(0x1000+511*8, 0x2000|rw)
	e64(0x1000+8, 0x1000|rw|ptePS) // PS at level 4
	e64(0x2000, 0x3000|rw)
	e64(0x2000+8, 5<<30|rw|ptePS)
	e64(0x2000+16, 5<<30|1<<20|rw|ptePS) // reserved bit
	e64(0x3000, 0x4000|rw)
	e64(0x3000+8, 0x60_0000|1<<12|rw|ptePS) // PAT bit set: fine
	e64(0x3000+16, 0x60_0000|1<<13|rw|ptePS)
	e64(0x4000, 0x7000|rw)
	e64(0x4008, 0x8000|p)
	e64(0x4010, 0x9000|rw|pteNX)
	e64(0x4018, 0)
	e64(0x4020, 0x8000|rw|pteUser)
	e64(0x5000, 0x1000|rw)
	// All-user path for SMAP.
	e64(0x1000+16, 0x2000|rw|pteUser)
	e64(0x2000+24, 0x3000|rw|pteUser)
	e64(0x3000+24, 0x4000|rw|pteUser)
	// 32-bit at 0x8000.
	e32(0x8000, 0x9000|rw)
	e32(0x8004, 0x0040_0000|3<<13|rw|ptePS)
	e32(0x8008, 0x0040_0000|1<<21|rw|ptePS)
	e32(0x9000, 0xabc000|rw)
	// PAE at 0xa020.
	e64(0xa020, 0x3000|p)
	e64(0xa028, 0)

	long := CPUState{CR0: cr0PE | cr0PG | cr0WP, CR3: 0x1000, CR4: cr4PAE, EFER: eferLMA | eferLME | eferNXE, CSLong: true}
	with := func(s CPUState, f func(*CPUState)) CPUState { f(&s); return s }
	la57 := with(long, func(s *CPUState) { s.CR4 |= cr4LA57; s.CR3 = 0x5000 })
	legacy := CPUState{CR0: cr0PE | cr0PG | cr0WP, CR3: 0x8000, CR4: cr4PSE}
	pae := CPUState{CR0: cr0PE | cr0PG, CR3: 0xa020, CR4: cr4PAE}
	smap := with(long, func(s *CPUState) { s.CR4 |= cr4SMAP })
	userLA := uint64(2<<39 | 3<<30 | 3<<21 | 4<<12)
	for _, c := range []struct {
		name  string
		s     CPUState
		la    uint64
		write bool
		gpa   uint64
		ok    bool
	}{
		{"no paging", CPUState{CR0: cr0PE}, 0x1234, true, 0x1234, true},
		{"real mode", CPUState{}, 0x1_0000_1234, true, 0x1234, true},
		{"4 KiB page", long, 0x123, true, 0x7123, true},
		{"high half", long, 0xffff_ff80_0000_0123, false, 0x7123, true},
		{"non-canonical", long, 0x0000_8000_0000_0000, false, 0, false},
		{"read of a read-only page", long, 0x1008, false, 0x8008, true},
		{"write to a read-only page", long, 0x1008, true, 0, false},
		{"write to a read-only page, WP clear", with(long, func(s *CPUState) { s.CR0 &^= cr0WP }), 0x1008, true, 0x8008, true},
		{"NX data", long, 0x2000, false, 0x9000, true},
		{"NX bit without NXE", with(long, func(s *CPUState) { s.EFER &^= eferNXE }), 0x2000, false, 0, false},
		{"not present", long, 0x3000, false, 0, false},
		{"2 MiB page", long, 0x20_0123, true, 0x60_0123, true},
		{"2 MiB page with reserved bits", long, 0x40_0123, true, 0, false},
		{"1 GiB page", long, 1<<30 + 0x777_7777, true, 5<<30 + 0x777_7777, true},
		{"1 GiB page with reserved bits", long, 2 << 30, true, 0, false},
		{"PS at level 4", long, 1 << 39, false, 0, false},
		{"5 levels", la57, 0x123, true, 0x7123, true},
		{"5 levels, non-canonical", la57, 1 << 56, false, 0, false},
		{"compatibility mode drops the upper half", with(long, func(s *CPUState) { s.CSLong = false }), 0xdead_0000_0000_0123, true, 0x7123, true},
		{"32-bit page", legacy, 0x456, true, 0xabc456, true},
		{"4 MiB page with high bits", legacy, 0x40_0456, true, 3<<32 | 0x40_0456, true},
		{"4 MiB page, reserved bit", legacy, 0x80_0456, true, 0, false},
		{"PS without PSE is a table", with(legacy, func(s *CPUState) { s.CR4 = 0 }), 0x40_0000, true, 0, false},
		{"PAE", pae, 0x123, true, 0x7123, true},
		{"PAE 2 MiB", pae, 0x20_0123, true, 0x60_0123, true},
		{"PAE pointer absent", pae, 1 << 30, true, 0, false},
		{"user page", long, userLA, true, 0x8000, true},
		{"user page under SMAP", smap, userLA, false, 0, false},
		{"user page under SMAP with AC", with(smap, func(s *CPUState) { s.RFLAGS = rflagsAC }), userLA, true, 0x8000, true},
		{"supervisor page under SMAP", smap, 0x123, true, 0x7123, true},
		{"tables outside memory", with(long, func(s *CPUState) { s.CR3 = 0x000f_ffff_ffff_f000 }), 0, false, 0, false},
	} {
		gpa, ok := translate(m, &c.s, c.la, c.write)
		if ok != c.ok || ok && gpa != c.gpa {
			t.Errorf("%s: got %#x %v, want %#x %v", c.name, gpa, ok, c.gpa, c.ok)
		}
	}
}

func TestWalkOfTablesThatPointToThemselves(t *testing.T) {
	m := &tableMemory{b: make([]byte, pageSize)}
	for i := 0; i < pageSize; i += 8 {
		binary.LittleEndian.PutUint64(m.b[i:], ptePresent|pteWrite)
	}
	s := CPUState{CR0: cr0PE | cr0PG, CR4: cr4PAE | cr4LA57, EFER: eferLMA | eferLME, CSLong: true}
	if gpa, ok := translate(m, &s, 0x123, true); !ok || gpa != 0x123 || m.loads != 5 {
		t.Errorf("got %#x %v after %d loads", gpa, ok, m.loads)
	}
}
