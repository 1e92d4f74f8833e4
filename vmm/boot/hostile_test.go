// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"encoding/binary"
	"testing"

	"xenvmm/xenshim/abi"
)

// edit64 patches a built 64-bit kernel.
func edit64(f func(p []byte)) []byte {
	p := testKernel(64).build()
	f(p)
	return p
}

const ph = 64 // first program header of a 64-bit file

func TestLoadRefusesHostileKernels(t *testing.T) {
	le := binary.LittleEndian
	withNote := func(seg segSpec) []byte {
		e := testKernel(64)
		e.segs[2] = seg
		return e.build()
	}
	rawNote := func(p []byte) []byte { return withNote(segSpec{kind: ptNote, data: p, align: 4}) }
	for _, c := range []struct {
		name  string
		file  []byte
		kind  error
		words []string
	}{
		{"text file", []byte("#!/bin/sh\n"), ErrUnsupported, []string{"ELF magic"}},
		{"one byte", []byte{0x7f}, ErrUnsupported, nil},
		{"magic only", []byte("\x7fELF"), ErrFormat, []string{"cut off"}},
		{"64-bit header cut off", testKernel(64).build()[:60], ErrFormat, []string{"cut off"}},
		{"big endian", edit64(func(p []byte) { p[5] = 2 }), ErrUnsupported, []string{"endian"}},
		{"class 7", edit64(func(p []byte) { p[4] = 7 }), ErrFormat, []string{"class 7"}},
		{"arm", edit64(func(p []byte) { p[18] = 40 }), ErrUnsupported, []string{"machine 40", "x86"}},
		{"object file", edit64(func(p []byte) { p[16] = 1 }), ErrUnsupported, []string{"type 1"}},
		{"no program headers", edit64(func(p []byte) { p[56] = 0 }), ErrFormat, []string{"no program headers"}},
		{"headers of odd size", edit64(func(p []byte) { p[54] = 57 }), ErrFormat, []string{"57"}},
		{"too many headers", edit64(func(p []byte) { le.PutUint16(p[56:], 0xffff) }), ErrFormat, []string{"65535"}},
		{"headers outside", edit64(func(p []byte) { le.PutUint64(p[32:], 1<<40) }), ErrFormat, []string{"0x10000000000"}},
		{"header offset wraps", edit64(func(p []byte) { le.PutUint64(p[32:], ^uint64(0)-8) }), ErrFormat, []string{"outside"}},
		{"segment offset outside", edit64(func(p []byte) { le.PutUint64(p[ph+8:], 1<<50) }), ErrFormat, []string{"program header 0"}},
		{"segment offset wraps", edit64(func(p []byte) { le.PutUint64(p[ph+8:], ^uint64(0)-1) }), ErrFormat, []string{"program header 0"}},
		{"segment size outside", edit64(func(p []byte) { le.PutUint64(p[ph+32:], 1<<62) }), ErrFormat, []string{"program header 0"}},
		{"file size above memory size", edit64(func(p []byte) { le.PutUint64(p[ph+40:], 0x10) }), ErrFormat, []string{"segment 0", "0x10"}},
		{"memory size zero", edit64(func(p []byte) { le.PutUint64(p[ph+40:], 0) }), ErrFormat, []string{"segment 0"}},
		{"address wraps", edit64(func(p []byte) { le.PutUint64(p[ph+24:], ^uint64(0)-0x100) }), ErrFormat, []string{"overflows"}},
		{"memory size wraps", edit64(func(p []byte) { le.PutUint64(p[ph+40:], ^uint64(0)) }), ErrFormat, []string{"overflows"}},
		{"memory size above RAM", edit64(func(p []byte) { le.PutUint64(p[ph+40:], 1<<40) }), ErrNoRoom, []string{"segment 0", "memory"}},
		{"address above RAM", edit64(func(p []byte) { le.PutUint64(p[ph+24:], 1<<40) }), ErrNoRoom, []string{"0x10000000000"}},
		{"segments overlap", edit64(func(p []byte) { le.PutUint64(p[ph+56+24:], testLoad+0x2fff) }), ErrFormat, []string{"segment 1", "overlaps kernel segment 0"}},
		{"nothing to load", elfSpec{bits: 64, segs: []segSpec{{kind: ptLoad}, pvhNote(le64(0))}}.build(), ErrFormat, []string{"nothing to load"}},
		{"entry outside", withNote(pvhNote(le64(testLoad + 0x3000))), ErrFormat, []string{"0x1003000", "no loaded segment"}},
		{"entry above 4 GiB", withNote(pvhNote(le64(1 << 32))), ErrFormat, []string{"4 GiB"}},
		{"no PVH note", rawNote(note("Xen", abi.ElfNoteGuestOS, []byte("linux\x00"), 4)), ErrUnsupported, []string{"CONFIG_PVH"}},
		{"PVH note of another owner", rawNote(note("GNU", abi.ElfNotePhys32Entry, le64(testLoad), 4)), ErrUnsupported, []string{"no PVH entry note"}},
		{"PVH note of 2 bytes", withNote(pvhNote([]byte{1, 2})), ErrFormat, []string{"2 bytes"}},
		{"PVH note empty", withNote(pvhNote(nil)), ErrFormat, []string{"0 bytes"}},
		{"two entries", rawNote(append(note("Xen", abi.ElfNotePhys32Entry, le64(testLoad), 4), note("Xen", abi.ElfNotePhys32Entry, le32(testLoad+4), 4)...)), ErrFormat, []string{"two PVH entry notes"}},
		{"note header cut off", rawNote([]byte{4, 0, 0, 0, 8, 0, 0, 0, 18}), ErrFormat, []string{"cut off"}},
		{"note name over the end", rawNote(append(le32(0xfffffff0), make([]byte, 20)...)), ErrFormat, []string{"runs over"}},
		{"note descriptor over the end", rawNote(append(append(le32(4), le32(0xffffffff)...), make([]byte, 20)...)), ErrFormat, []string{"runs over"}},
		{"note cut off", rawNote(note("Xen", abi.ElfNotePhys32Entry, le64(testLoad), 4)[:20]), ErrFormat, []string{"runs over"}},
		{"long descriptor", rawNote(note("Xen", abi.ElfNoteLoader, make([]byte, 5000), 4)), ErrFormat, []string{"5000"}},
		{"many notes", rawNote(bytes.Repeat(note("Xen", abi.ElfNoteLoader, nil, 4), 300)), ErrFormat, []string{"256"}},
		{"much note data", rawNote(make([]byte, 1<<20+16)), ErrFormat, []string{"bytes of notes"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Plan(testParams(c.file))
			checkError(t, err, c.kind, append(c.words, "vmlinux")...)
			// Inspect looks at the same file and survives it.
			if _, err := Inspect(bytes.NewReader(c.file), int64(len(c.file))); err != nil {
				t.Errorf("Inspect: %v", err)
			}
		})
	}
}

func TestNoteLayouts(t *testing.T) {
	entry := le64(testLoad + 0x10)
	for _, c := range []struct {
		name  string
		align uint64
		data  []byte
	}{
		{"behind a GNU note, 4-byte padding", 4, append(note("GNU", 3, pattern(20, 1), 4), note("Xen", abi.ElfNotePhys32Entry, entry, 4)...)},
		{"behind an odd note", 4, append(note("Linux", 257, []byte{1}, 4), note("Xen", abi.ElfNotePhys32Entry, entry, 4)...)},
		{"8-byte padding", 8, append(note("GNU", 5, pattern(12, 1), 8), note("Xen", abi.ElfNotePhys32Entry, entry, 8)...)},
		{"alignment zero", 0, note("Xen", abi.ElfNotePhys32Entry, entry, 4)},
		{"zeros after the last note", 4, append(note("Xen", abi.ElfNotePhys32Entry, entry, 4), 0, 0, 0, 0)},
		{"4-byte descriptor in a 64-bit file", 4, note("Xen", abi.ElfNotePhys32Entry, entry[:4], 4)},
		{"the same entry twice", 4, bytes.Repeat(note("Xen", abi.ElfNotePhys32Entry, entry, 4), 2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := testKernel(64)
			e.segs[2] = segSpec{kind: ptNote, data: c.data, align: c.align}
			img, err := Plan(testParams(e.build()))
			if err != nil {
				t.Fatal(err)
			}
			if img.Entry != testLoad+0x10 {
				t.Errorf("entry %#x", img.Entry)
			}
		})
	}
}

func TestNotesInSectionsOnly(t *testing.T) {
	text := append(pattern(0x1000, 1), note("Xen", abi.ElfNotePhys32Entry, le64(testLoad+0x10), 4)...)
	e := elfSpec{bits: 64, segs: []segSpec{{kind: ptLoad, flags: 5, vaddr: testLoad, paddr: testLoad, data: text}},
		secs: []section{{kind: shtNote, offset: 0x1000, len: uint64(len(text) - 0x1000)}}}
	img, err := Plan(testParams(e.build()))
	if err != nil {
		t.Fatal(err)
	}
	if img.Entry != testLoad+0x10 {
		t.Errorf("entry %#x", img.Entry)
	}
}
