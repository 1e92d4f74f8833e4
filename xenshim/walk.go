// SPDX-License-Identifier: Apache-2.0

package xenshim

// Page table entry bits (Intel SDM volume 3, section 4).
const (
	ptePresent = 1 << 0
	pteWrite   = 1 << 1
	pteUser    = 1 << 2
	ptePS      = 1 << 7
	pteNX      = 1 << 63

	pteAddrMask  = 0x000f_ffff_ffff_f000
	pageMask     = 0xfff
	pageSize     = 4096
	pageShift    = 12
	linear32Mask = 0xffff_ffff
)

// translate finds the guest physical address of one byte at linear address la
// in state s, for a data access at CPL 0. It reports false where the processor
// would raise a page fault (or #GP for a non-canonical address), and where a
// table lies outside memory.
//
// Rights: a supervisor write needs the R/W bit at every level when CR0.WP is
// set; a page with U/S set at every level is refused when CR4.SMAP is set and
// RFLAGS.AC clear, as hardware and Xen do. NX does not matter for data, but
// bit 63 is reserved while EFER.NXE is clear. Protection keys are not applied:
// PKRU is not part of the state. Accessed and dirty bits are not set.
//
// The walk reads each entry once, at most five of them, whatever the tables
// hold: tables that point to themselves or out of memory end the same way.
func translate(m Memory, s *CPUState, la uint64, write bool) (uint64, bool) {
	if s.EFER&eferLMA == 0 || !s.CSLong {
		la &= linear32Mask
	}
	switch {
	case s.CR0&cr0PG == 0 || s.CR0&cr0PE == 0:
		return la & linear32Mask, true
	case s.EFER&eferLMA != 0:
		levels := 4
		if s.CR4&cr4LA57 != 0 {
			levels = 5
		}
		if !canonical(la, levels) {
			return 0, false
		}
		return walk64(m, s, la, write, s.CR3&pteAddrMask, levels)
	case s.CR4&cr4PAE != 0:
		return walkPAE(m, s, la, write)
	}
	return walk32(m, s, la, write)
}

// canonical reports whether the bits above the implemented width repeat the
// top implemented bit.
func canonical(la uint64, levels int) bool {
	shift := 64 - (pageShift + 9*levels)
	return uint64(int64(la<<shift)>>shift) == la
}

// walk64 walks levels of 512-entry tables from table downwards.
func walk64(m Memory, s *CPUState, la uint64, write bool, table uint64, levels int) (uint64, bool) {
	rights := uint64(pteWrite | pteUser)
	for level := levels; level >= 1; level-- {
		shift := uint(pageShift + 9*(level-1))
		e, err := m.LoadUint64(table + (la>>shift&0x1ff)*8)
		if err != nil || e&ptePresent == 0 || (e&pteNX != 0 && s.EFER&eferNXE == 0) {
			return 0, false
		}
		rights &= e
		frame := e & pteAddrMask
		if level == 1 {
			return frame | la&pageMask, allowed(s, rights, write)
		}
		if e&ptePS != 0 {
			span := uint64(1)<<shift - 1
			// Bits between the page's size and bit 12 (the PAT bit) are reserved.
			if level > 3 || frame&span&^(1<<12) != 0 {
				return 0, false
			}
			return frame&^span | la&span, allowed(s, rights, write)
		}
		table = frame
	}
	return 0, false
}

// walkPAE walks the three levels of 32-bit PAE paging. The four pointers of
// the top level carry no rights.
func walkPAE(m Memory, s *CPUState, la uint64, write bool) (uint64, bool) {
	pdpte, err := m.LoadUint64(s.CR3&0xffff_ffe0 + la>>30*8)
	if err != nil || pdpte&ptePresent == 0 {
		return 0, false
	}
	return walk64(m, s, la, write, pdpte&pteAddrMask, 2)
}

// walk32 walks the two levels of 32-bit paging, with 4 MiB pages under CR4.PSE
// (physical bits 39:32 in entry bits 20:13).
func walk32(m Memory, s *CPUState, la uint64, write bool) (uint64, bool) {
	pde, err := m.LoadUint32(s.CR3&0xffff_f000 + la>>22*4)
	if err != nil || pde&ptePresent == 0 {
		return 0, false
	}
	rights := uint64(pteWrite|pteUser) & uint64(pde)
	if pde&ptePS != 0 && s.CR4&cr4PSE != 0 {
		if pde&(1<<21) != 0 {
			return 0, false
		}
		high := uint64(pde>>13&0xff) << 32
		return high | uint64(pde&0xffc0_0000) | la&0x3f_ffff, allowed(s, rights, write)
	}
	pte, err := m.LoadUint32(uint64(pde&0xffff_f000) + (la>>12&0x3ff)*4)
	if err != nil || pte&ptePresent == 0 {
		return 0, false
	}
	return uint64(pte&0xffff_f000) | la&pageMask, allowed(s, rights&uint64(pte), write)
}

// allowed applies the rights collected over all levels to a CPL 0 access.
func allowed(s *CPUState, rights uint64, write bool) bool {
	if write && rights&pteWrite == 0 && s.CR0&cr0WP != 0 {
		return false
	}
	return rights&pteUser == 0 || s.CR4&cr4SMAP == 0 || s.RFLAGS&rflagsAC != 0
}
