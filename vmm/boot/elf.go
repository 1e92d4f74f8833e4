// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"encoding/binary"
	"fmt"
)

// The parts of the ELF format (System V gABI, "Object Files") that a boot
// loader needs.
const (
	elfIdentSize = 16
	elfClass32   = 1
	elfClass64   = 2
	elfLittle    = 1

	elfTypeExec = 2
	elfTypeDyn  = 3

	machine386    = 3
	machineX86_64 = 62

	ptLoad = 1
	ptNote = 4

	pfExec = 1

	shtNote    = 7
	shtNobits  = 8
	shfAlloc   = 2
	shfExec    = 4
	maxHeaders = 4096 // program or section headers; vmlinux has fewer than 100
)

// Segment is one program header.
type Segment struct {
	Type     uint32
	Flags    uint32 // 1 execute, 2 write, 4 read
	Offset   uint64 // in the file
	Vaddr    uint64
	Paddr    uint64
	FileSize uint64
	MemSize  uint64
	Align    uint64
}

// section is one section header.
type section struct {
	kind, flags        uint64
	vaddr, offset, len uint64
	align              uint64
}

// elfFile is a parsed ELF header with its program headers. Offsets and sizes
// in it have been checked against the file.
type elfFile struct {
	file     File
	bits     int // 32 or 64
	machine  uint16
	entry    uint64
	segments []Segment
	sections []section // empty if there are none or they are damaged
	secErr   error     // why sections could not be read
}

// isELF tells an ELF file by its magic number.
func isELF(head []byte) bool { return len(head) >= 4 && string(head[:4]) == "\x7fELF" }

// parseELF reads the headers. Errors describe the fault; the caller adds the
// file's name.
func parseELF(f File) (*elfFile, error) {
	h, err := f.head(64)
	if err != nil {
		return nil, err
	}
	if !isELF(h) {
		return nil, fmt.Errorf("no ELF magic: %w", ErrUnsupported)
	}
	if len(h) < 52 {
		return nil, fmt.Errorf("ELF header cut off after %d bytes: %w", len(h), ErrFormat)
	}
	if h[5] != elfLittle {
		return nil, fmt.Errorf("ELF data encoding %d is not little endian: %w", h[5], ErrUnsupported)
	}
	le := binary.LittleEndian
	e := &elfFile{file: f, machine: le.Uint16(h[18:])}
	var phoff, shoff uint64
	var tail []byte // e_ehsize and on
	switch h[4] {
	case elfClass32:
		e.bits, e.entry = 32, uint64(le.Uint32(h[24:]))
		phoff, shoff, tail = uint64(le.Uint32(h[28:])), uint64(le.Uint32(h[32:])), h[40:]
	case elfClass64:
		if len(h) < 64 {
			return nil, fmt.Errorf("ELF header cut off after %d bytes: %w", len(h), ErrFormat)
		}
		e.bits, e.entry = 64, le.Uint64(h[24:])
		phoff, shoff, tail = le.Uint64(h[32:]), le.Uint64(h[40:]), h[52:]
	default:
		return nil, fmt.Errorf("ELF class %d is neither 32 nor 64 bit: %w", h[4], ErrFormat)
	}
	if e.machine != machine386 && e.machine != machineX86_64 {
		return nil, fmt.Errorf("ELF machine %d is not x86 (3 or 62); use a kernel built for x86: %w", e.machine, ErrUnsupported)
	}
	if t := le.Uint16(h[16:]); t != elfTypeExec && t != elfTypeDyn {
		return nil, fmt.Errorf("ELF type %d is not an executable (2 or 3): %w", t, ErrUnsupported)
	}
	if err := e.programHeaders(phoff, le.Uint16(tail[2:]), le.Uint16(tail[4:])); err != nil {
		return nil, err
	}
	e.secErr = e.sectionHeaders(shoff, le.Uint16(tail[6:]), le.Uint16(tail[8:]))
	return e, nil
}

// table reads a header table of n entries after checking its place and size.
func (e *elfFile) table(what string, off uint64, entsize, want, n uint16) ([]byte, error) {
	if entsize != want {
		return nil, fmt.Errorf("%s header size is %d, not %d: %w", what, entsize, want, ErrFormat)
	}
	if n > maxHeaders {
		return nil, fmt.Errorf("%d %s headers are more than %d: %w", n, what, maxHeaders, ErrFormat)
	}
	size := uint64(entsize) * uint64(n)
	if off > uint64(e.file.Size) || size > uint64(e.file.Size)-off {
		return nil, fmt.Errorf("%d %s headers at offset %#x lie outside the file (%d bytes): %w", n, what, off, e.file.Size, ErrFormat)
	}
	p := make([]byte, size)
	return p, e.file.readAt(p, int64(off))
}

func (e *elfFile) programHeaders(off uint64, entsize, n uint16) error {
	if n == 0 {
		return fmt.Errorf("no program headers: %w", ErrFormat)
	}
	want := uint16(32)
	if e.bits == 64 {
		want = 56
	}
	p, err := e.table("program", off, entsize, want, n)
	if err != nil {
		return err
	}
	e.segments = make([]Segment, 0, n)
	for i := 0; i < int(n); i++ {
		s := decodeSegment(p[i*int(want):], e.bits)
		if (s.Type == ptLoad || s.Type == ptNote) &&
			(s.Offset > uint64(e.file.Size) || s.FileSize > uint64(e.file.Size)-s.Offset) {
			return fmt.Errorf("program header %d: %d bytes at offset %#x lie outside the file (%d bytes): %w",
				i, s.FileSize, s.Offset, e.file.Size, ErrFormat)
		}
		e.segments = append(e.segments, s)
	}
	return nil
}

func decodeSegment(p []byte, bits int) Segment {
	le := binary.LittleEndian
	if bits == 32 {
		w := func(i int) uint64 { return uint64(le.Uint32(p[4*i:])) }
		return Segment{Type: le.Uint32(p), Offset: w(1), Vaddr: w(2), Paddr: w(3), FileSize: w(4), MemSize: w(5), Flags: uint32(w(6)), Align: w(7)}
	}
	q := func(i int) uint64 { return le.Uint64(p[8*i:]) }
	return Segment{Type: le.Uint32(p), Flags: le.Uint32(p[4:]), Offset: q(1), Vaddr: q(2), Paddr: q(3), FileSize: q(4), MemSize: q(5), Align: q(6)}
}

// sectionHeaders reads the section table. A kernel needs none to boot, so the
// caller treats an error as a warning.
func (e *elfFile) sectionHeaders(off uint64, entsize, n uint16) error {
	if n == 0 || off == 0 {
		return nil
	}
	want := uint16(40)
	if e.bits == 64 {
		want = 64
	}
	p, err := e.table("section", off, entsize, want, n)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	list := make([]section, 0, n)
	for i := 0; i < int(n); i++ {
		h := p[i*int(want):]
		var s section
		if e.bits == 32 {
			w := func(i int) uint64 { return uint64(le.Uint32(h[4*i:])) }
			s = section{kind: w(1), flags: w(2), vaddr: w(3), offset: w(4), len: w(5), align: w(8)}
		} else {
			q := func(i int) uint64 { return le.Uint64(h[8*i:]) }
			s = section{kind: uint64(le.Uint32(h[4:])), flags: q(1), vaddr: q(2), offset: q(3), len: q(4), align: q(6)}
		}
		if s.kind != shtNobits && (s.offset > uint64(e.file.Size) || s.len > uint64(e.file.Size)-s.offset) {
			return fmt.Errorf("section %d: %d bytes at offset %#x lie outside the file (%d bytes): %w", i, s.len, s.offset, e.file.Size, ErrFormat)
		}
		list = append(list, s)
	}
	e.sections = list
	return nil
}
