// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"encoding/binary"
	"fmt"
	"strings"

	"xenvmm/xenshim/abi"
)

// Limits on what a kernel's notes may take; Linux has a few hundred bytes.
const (
	maxNoteBytes = 1 << 20 // all of them together
	maxXenNotes  = 256
	maxNoteDesc  = 4096
)

// Note is one ELF note with owner "Xen" (public/elfnote.h).
type Note struct {
	Type abi.ElfNote
	Desc []byte
}

// Number is the descriptor as a little endian number; ok is false unless it is
// 4 or 8 bytes long. Both widths occur in 32-bit and in 64-bit files.
func (n Note) Number() (v uint64, ok bool) {
	switch len(n.Desc) {
	case 4:
		return uint64(binary.LittleEndian.Uint32(n.Desc)), true
	case 8:
		return binary.LittleEndian.Uint64(n.Desc), true
	}
	return 0, false
}

// String gives the value: text in quotes, numbers in hexadecimal, anything
// else as bytes.
func (n Note) String() string {
	if n.Type.IsString() {
		s, _, _ := strings.Cut(string(n.Desc), "\x00")
		return fmt.Sprintf("%s = %q", n.Type, s)
	}
	if v, ok := n.Number(); ok {
		return fmt.Sprintf("%s = %#x", n.Type, v)
	}
	return fmt.Sprintf("%s = % x", n.Type, n.Desc)
}

// xenNotes collects the Xen notes: those in PT_NOTE segments, or, when these
// hold none, those in note sections (some linkers drop the segment).
func (e *elfFile) xenNotes() ([]Note, error) {
	var notes []Note
	budget := uint64(maxNoteBytes)
	for i, s := range e.segments {
		if s.Type != ptNote {
			continue
		}
		var err error
		if notes, err = e.notesAt(notes, &budget, s.Offset, s.FileSize, s.Align); err != nil {
			return notes, fmt.Errorf("note segment %d: %w", i, err)
		}
	}
	if len(notes) != 0 {
		return notes, nil
	}
	for i, s := range e.sections {
		if s.kind != shtNote {
			continue
		}
		var err error
		if notes, err = e.notesAt(notes, &budget, s.offset, s.len, s.align); err != nil {
			return notes, fmt.Errorf("note section %d: %w", i, err)
		}
	}
	return notes, nil
}

// notesAt reads one piece of notes; budget is what all pieces together may
// still take.
func (e *elfFile) notesAt(notes []Note, budget *uint64, off, size, align uint64) ([]Note, error) {
	if size > *budget {
		return notes, fmt.Errorf("more than %d bytes of notes: %w", maxNoteBytes, ErrFormat)
	}
	*budget -= size
	p := make([]byte, size)
	if err := e.file.readAt(p, int64(off)); err != nil {
		return notes, err
	}
	return parseNotes(notes, p, align)
}

// parseNotes appends the Xen notes found in p. Each note is three 32-bit words
// (name size, descriptor size, type), the name and the descriptor, both padded
// to 4 bytes; with a segment alignment of 8 the descriptor and the next note
// start on 8-byte boundaries instead, counted from the start of the segment.
func parseNotes(notes []Note, p []byte, align uint64) ([]Note, error) {
	pad := uint64(4)
	if align == 8 {
		pad = 8
	}
	up := func(v uint64) uint64 { return (v + pad - 1) &^ (pad - 1) }
	size := uint64(len(p))
	for at := uint64(0); at < size; {
		if size-at < 12 {
			// Padding after the last note is legal; half a header is not.
			if strings.Trim(string(p[at:]), "\x00") == "" {
				return notes, nil
			}
			return notes, fmt.Errorf("note header at %#x cut off after %d bytes: %w", at, size-at, ErrFormat)
		}
		nameLen := uint64(binary.LittleEndian.Uint32(p[at:]))
		descLen := uint64(binary.LittleEndian.Uint32(p[at+4:]))
		kind := abi.ElfNote(binary.LittleEndian.Uint32(p[at+8:]))
		name := at + 12
		desc := name + nameLen // 64-bit sums of 32-bit values: no overflow
		if descLen != 0 {
			desc = up(desc)
		}
		end := desc + descLen
		if name+nameLen > size || end > size {
			return notes, fmt.Errorf("note at %#x (name %d, descriptor %d bytes) runs over the end of its %d bytes: %w", at, nameLen, descLen, size, ErrFormat)
		}
		owner := strings.TrimRight(string(p[name:name+min(nameLen, 16)]), "\x00")
		if owner == abi.ElfNoteOwner {
			if descLen > maxNoteDesc {
				return notes, fmt.Errorf("note %s of owner Xen: descriptor of %d bytes is longer than %d: %w", kind, descLen, maxNoteDesc, ErrFormat)
			}
			if len(notes) == maxXenNotes {
				return notes, fmt.Errorf("more than %d Xen notes: %w", maxXenNotes, ErrFormat)
			}
			notes = append(notes, Note{Type: kind, Desc: append([]byte(nil), p[desc:end]...)})
		}
		at = up(end)
	}
	return notes, nil
}

// pvhEntry picks the PVH entry point out of the notes; ok is false if there is
// no such note.
func pvhEntry(notes []Note) (entry uint32, ok bool, err error) {
	for _, n := range notes {
		if n.Type != abi.ElfNotePhys32Entry {
			continue
		}
		v, isNumber := n.Number()
		switch {
		case !isNumber:
			return 0, false, fmt.Errorf("PVH entry note has %d bytes, not 4 or 8: %w", len(n.Desc), ErrFormat)
		case v > 0xffffffff:
			return 0, false, fmt.Errorf("PVH entry %#x is above 4 GiB: %w", v, ErrFormat)
		case ok && uint32(v) != entry:
			return 0, false, fmt.Errorf("two PVH entry notes, %#x and %#x: %w", entry, v, ErrFormat)
		}
		entry, ok = uint32(v), true
	}
	return entry, ok, nil
}
