// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"xenvmm/xenshim/abi"
)

// elfSpec describes a synthetic kernel.
type elfSpec struct {
	bits    int
	machine uint16
	segs    []segSpec
	secs    []section // offsets are relative to the start of segs[0]'s data
}

type segSpec struct {
	kind, flags  uint32
	vaddr, paddr uint64
	data         []byte
	memsz        uint64 // 0: len(data)
	align        uint64
}

// build lays out header, program headers, segment data, section headers.
func (e elfSpec) build() []byte {
	le := binary.LittleEndian
	if e.machine == 0 {
		e.machine = machineX86_64
	}
	ehsize, phsize, shsize := 64, 56, 64
	if e.bits == 32 {
		ehsize, phsize, shsize = 52, 32, 40
	}
	out := make([]byte, ehsize+phsize*len(e.segs))
	var first uint64
	for i, s := range e.segs {
		for len(out)%16 != 0 {
			out = append(out, 0)
		}
		off := uint64(len(out))
		if i == 0 {
			first = off
		}
		out = append(out, s.data...)
		memsz := s.memsz
		if memsz == 0 {
			memsz = uint64(len(s.data))
		}
		h := out[ehsize+phsize*i:]
		le.PutUint32(h, s.kind)
		if e.bits == 32 {
			for j, v := range []uint64{off, s.vaddr, s.paddr, uint64(len(s.data)), memsz, uint64(s.flags), s.align} {
				le.PutUint32(h[4+4*j:], uint32(v))
			}
		} else {
			le.PutUint32(h[4:], s.flags)
			for j, v := range []uint64{off, s.vaddr, s.paddr, uint64(len(s.data)), memsz, s.align} {
				le.PutUint64(h[8+8*j:], v)
			}
		}
	}
	shoff := uint64(len(out))
	for _, s := range e.secs {
		h := make([]byte, shsize)
		le.PutUint32(h[4:], uint32(s.kind))
		if e.bits == 32 {
			for j, v := range []uint64{s.flags, s.vaddr, first + s.offset, s.len} {
				le.PutUint32(h[8+4*j:], uint32(v))
			}
		} else {
			for j, v := range []uint64{s.flags, s.vaddr, first + s.offset, s.len} {
				le.PutUint64(h[8+8*j:], v)
			}
		}
		out = append(out, h...)
	}
	copy(out, "\x7fELF")
	out[4], out[5], out[6] = byte(e.bits/32), 1, 1
	le.PutUint16(out[16:], elfTypeExec)
	le.PutUint16(out[18:], e.machine)
	tail := out[52:]
	if e.bits == 32 {
		le.PutUint32(out[28:], uint32(ehsize))
		le.PutUint32(out[32:], uint32(shoff))
		tail = out[40:]
	} else {
		le.PutUint64(out[32:], uint64(ehsize))
		le.PutUint64(out[40:], shoff)
	}
	le.PutUint16(tail, uint16(ehsize))
	le.PutUint16(tail[2:], uint16(phsize))
	le.PutUint16(tail[4:], uint16(len(e.segs)))
	le.PutUint16(tail[6:], uint16(shsize))
	le.PutUint16(tail[8:], uint16(len(e.secs)))
	return out
}

// note encodes one ELF note with padding pad.
func note(owner string, kind abi.ElfNote, desc []byte, pad int) []byte {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, []uint32{uint32(len(owner) + 1), uint32(len(desc)), uint32(kind)})
	b.WriteString(owner)
	b.WriteByte(0)
	for b.Len()%pad != 0 {
		b.WriteByte(0)
	}
	b.Write(desc)
	for b.Len()%pad != 0 {
		b.WriteByte(0)
	}
	return b.Bytes()
}

func le32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// pvhNote is a segment with a PVH entry note as Linux (8 bytes) or grub (4
// bytes) has it.
func pvhNote(desc []byte) segSpec {
	return segSpec{kind: ptNote, data: note("Xen", abi.ElfNotePhys32Entry, desc, 4), align: 4}
}

const testLoad = 0x1000000 // where test kernels are loaded

// testKernel is a plain bootable kernel: text, data with bss, note.
func testKernel(bits int) elfSpec {
	desc := le64(testLoad + 0x20)
	if bits == 32 {
		desc = le32(testLoad + 0x20)
	}
	return elfSpec{bits: bits, segs: []segSpec{
		{kind: ptLoad, flags: 5, vaddr: testLoad, paddr: testLoad, data: pattern(0x3000, 1)},
		{kind: ptLoad, flags: 6, vaddr: testLoad + 0x4000, paddr: testLoad + 0x4000, data: pattern(0x123, 2), memsz: 0x2800},
		pvhNote(desc),
	}}
}

// pattern is n bytes that differ from each other and between seeds; the period
// of 4093 bytes is none of the loader's sizes.
func pattern(n int, seed uint32) []byte {
	p := make([]byte, n)
	for i := range min(n, 4093) {
		seed = seed*1664525 + 1013904223
		p[i] = byte(seed >> 24)
	}
	for done := 4093; done < n; done *= 2 {
		copy(p[done:], p[:done])
	}
	return p
}

// memGuest is guest memory as one flat array with checked access.
type memGuest struct{ mem []byte }

func newGuest(size uint64) *memGuest {
	g := &memGuest{mem: make([]byte, size)}
	for i := 0; i < len(g.mem); i += pageSize { // stale contents that a loader must clear
		g.mem[i] = 0xaa
	}
	return g
}

func (g *memGuest) check(n int, gpa uint64) error {
	if gpa > uint64(len(g.mem)) || uint64(n) > uint64(len(g.mem))-gpa {
		return fmt.Errorf("%d bytes at %#x outside %#x", n, gpa, len(g.mem))
	}
	return nil
}

func (g *memGuest) WriteAt(p []byte, gpa uint64) error {
	if err := g.check(len(p), gpa); err != nil {
		return err
	}
	copy(g.mem[gpa:], p)
	return nil
}

func (g *memGuest) ReadAt(p []byte, gpa uint64) error {
	if err := g.check(len(p), gpa); err != nil {
		return err
	}
	copy(p, g.mem[gpa:])
	return nil
}
