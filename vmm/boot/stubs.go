// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// StubKind is the instruction a hypercall stub uses.
type StubKind string

// The two instructions: Intel's and AMD's.
const (
	Vmcall  StubKind = "vmcall"
	Vmmcall StubKind = "vmmcall"
)

// Stub is a function of a Linux kernel that does nothing but one hypercall
// instruction. Kernels since the fix of XSA-466 (end of 2024) have one with
// VMCALL and one with VMMCALL and call these instead of a hypercall page. A
// host that cannot intercept these instructions must rewrite both.
type Stub struct {
	Kind   StubKind
	Offset uint64 // of the 3-byte instruction, in the (unpacked) ELF file
	Vaddr  uint64
	GPA    uint64 // where the instruction is loaded; valid if Loaded
	Loaded bool
	Endbr  bool // an ENDBR64 stands before the instruction; else it is 16-byte aligned
	Thunk  bool // it returns by a jump to the return thunk; else by RET
	Paired bool // the other kind's stub stands at the expected distance
}

// StubSize is the length of the instruction in a stub, in bytes.
const StubSize = 3

const (
	maxStubs  = 64
	scanChunk = 1 << 20
	scanBack  = 4 // ENDBR64 before the instruction
	scanAhead = 4 // the instruction and the byte after it
)

var endbr64 = []byte{0xf3, 0x0f, 0x1e, 0xfa}

// FindStubs scans the kernel's executable code for hypercall stubs. Images
// hold many other VMCALL and VMMCALL instructions (KVM, VMware and Hyper-V
// guest code, VMGEXIT), so the whole shape of the function is matched: in
// executable code, an ENDBR64 just before or a 16-byte aligned start, the
// instruction, and RET or JMP rel32 just after. Only stubs with Paired set
// should be rewritten.
func (m *Image) FindStubs() ([]Stub, error) { return m.elf.stubs() }

func (e *elfFile) stubs() ([]Stub, error) {
	var out []Stub
	buf := make([]byte, scanBack+scanChunk+scanAhead)
	for _, c := range e.code() {
		for done := uint64(0); done < c.size; done += scanChunk {
			lo := done - min(done, scanBack)
			hi := min(c.size, done+scanChunk+scanAhead)
			p := buf[:hi-lo]
			if err := e.file.readAt(p, int64(c.offset+lo)); err != nil {
				return out, fmt.Errorf("scan code: %w", err)
			}
			for _, s := range scanStubs(p, c.vaddr+lo, int(done-lo), int(min(c.size, done+scanChunk)-lo)) {
				if len(out) == maxStubs {
					return out, fmt.Errorf("more than %d hypercall stubs: %w", maxStubs, ErrFormat)
				}
				s.Offset = c.offset + (s.Vaddr - c.vaddr)
				out = append(out, s)
			}
		}
	}
	for i := range out {
		out[i].GPA, out[i].Loaded = e.loadedAt(out[i].Offset)
	}
	pairStubs(out)
	return out, nil
}

// codeRange is a piece of executable code in the file.
type codeRange struct{ offset, vaddr, size uint64 }

// code lists the executable sections, or, in a file without sections, the
// executable segments.
func (e *elfFile) code() (out []codeRange) {
	for _, s := range e.sections {
		if s.kind != shtNobits && s.flags&shfAlloc != 0 && s.flags&shfExec != 0 && s.len != 0 {
			out = append(out, codeRange{s.offset, s.vaddr, s.len})
		}
	}
	if len(out) == 0 {
		for _, s := range e.segments {
			if s.Type == ptLoad && s.Flags&pfExec != 0 && s.FileSize != 0 {
				out = append(out, codeRange{s.Offset, s.Vaddr, s.FileSize})
			}
		}
	}
	// A hostile table could name the same bytes thousands of times.
	slices.SortFunc(out, func(a, b codeRange) int { return cmp.Compare(a.offset, b.offset) })
	end := uint64(0)
	return slices.DeleteFunc(out, func(c codeRange) bool {
		if c.offset < end {
			return true
		}
		end = c.offset + c.size
		return false
	})
}

// scanStubs finds the stubs whose instruction starts in p[from:to]; vaddr is
// the address of p[0].
func scanStubs(p []byte, vaddr uint64, from, to int) (out []Stub) {
	for i := from; i < to; i++ {
		j := bytes.Index(p[i:], []byte{0x0f, 0x01})
		if j < 0 {
			return out
		}
		i += j
		if i >= to || i+scanAhead > len(p) {
			return out
		}
		s := Stub{Vaddr: vaddr + uint64(i), Thunk: p[i+3] == 0xe9}
		switch p[i+2] {
		case 0xc1:
			s.Kind = Vmcall
		case 0xd9:
			s.Kind = Vmmcall
		default:
			continue
		}
		if !s.Thunk && p[i+3] != 0xc3 {
			continue
		}
		s.Endbr = i >= scanBack && bytes.Equal(p[i-scanBack:i], endbr64)
		if s.Endbr || s.Vaddr%16 == 0 {
			out = append(out, s)
		}
	}
	return out
}

// pairStubs marks the stubs of different kind, but the same style, that stand
// 16 or 32 bytes apart: the VMMCALL one first, as Linux lays them out.
func pairStubs(s []Stub) {
	for i := range s {
		for j := range s {
			a, b := &s[i], &s[j]
			if a.Kind != Vmmcall || b.Kind != Vmcall || a.Endbr != b.Endbr || a.Thunk != b.Thunk {
				continue
			}
			if d := b.Vaddr - a.Vaddr; (d == 0x10 || d == 0x20) && b.Offset-a.Offset == d {
				a.Paired, b.Paired = true, true
			}
		}
	}
}

// loadedAt gives the guest physical address that a byte of the file is loaded
// to.
func (e *elfFile) loadedAt(off uint64) (gpa uint64, ok bool) {
	for _, s := range e.segments {
		if s.Type == ptLoad && off >= s.Offset && off-s.Offset < s.FileSize && s.FileSize-(off-s.Offset) >= StubSize {
			return s.Paddr + (off - s.Offset), true
		}
	}
	return 0, false
}

// StubMemory is the memory of a guest whose code is looked at and rewritten.
type StubMemory interface {
	Guest
	// ReadAt fills p from the guest physical address or fails.
	ReadAt(p []byte, gpa uint64) error
}

// rewriteStubs replaces the instruction of both stubs of each pair in a guest
// that the image has been written into, and returns how many were replaced. It
// is an error if a stub's bytes in the guest are not what they were in the
// file.
func (m *Image) rewriteStubs(g StubMemory, stubs []Stub, insn [StubSize]byte) (int, error) {
	n := 0
	for _, s := range stubs {
		if !s.Paired || !s.Loaded {
			continue
		}
		want := [StubSize]byte{0x0f, 0x01, 0xc1}
		if s.Kind == Vmmcall {
			want[2] = 0xd9
		}
		var have [StubSize]byte
		if err := g.ReadAt(have[:], s.GPA); err != nil {
			return n, fmt.Errorf("boot: read stub at %#x: %w", s.GPA, err)
		}
		if have != want {
			return n, fmt.Errorf("boot: stub at %#x holds % x, not % x; the guest has changed it or was not loaded: %w", s.GPA, have, want, ErrFormat)
		}
		if err := g.WriteAt(insn[:], s.GPA); err != nil {
			return n, fmt.Errorf("boot: rewrite stub at %#x: %w", s.GPA, err)
		}
		n++
	}
	return n, nil
}
