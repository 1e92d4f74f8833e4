// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"slices"
	"testing"
)

const (
	maxImage = 64 << 10
	loadBase = 1 << 20
	maxRAM   = 16 << 20 // what a guest may cover, of the 32 MiB all run in
)

func TestEverySourceHasAnImageAndADescription(t *testing.T) {
	dirs, err := os.ReadDir("tests")
	if err != nil {
		t.Fatal(err)
	}
	var sources, described []string
	for _, d := range dirs {
		sources = append(sources, d.Name())
	}
	for _, d := range Tests() {
		described = append(described, d.Name)
		if d.Doc == "" || d.CPUs < 1 {
			t.Errorf("%s: no description or no CPUs", d.Name)
		}
		for _, v := range d.Variants {
			if v.CPUs < 1 {
				t.Errorf("%s: variant %q wants no CPUs", d.Name, v.Args)
			}
		}
	}
	slices.Sort(described)
	if names := Names(); !slices.Equal(names, sources) {
		t.Errorf("embedded %v\nsources  %v", names, sources)
	}
	if !slices.Equal(described, sources) {
		t.Errorf("described %v\nsources   %v", described, sources)
	}
}

func TestImageReportsUnknownNames(t *testing.T) {
	if b, ok := Image("no such guest"); ok || b != nil {
		t.Errorf("Image of an unknown name: %d bytes, %v", len(b), ok)
	}
}

func TestImagesAreValidPVHGuests(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			image, ok := Image(name)
			if !ok {
				t.Fatal("listed, but no image")
			}
			if len(image) >= maxImage {
				t.Errorf("%d bytes, want under %d", len(image), maxImage)
			}
			f, err := elf.NewFile(bytes.NewReader(image))
			if err != nil {
				t.Fatal(err)
			}
			if f.Class != elf.ELFCLASS64 || f.Machine != elf.EM_X86_64 || f.Type != elf.ET_EXEC {
				t.Errorf("%v %v %v", f.Class, f.Machine, f.Type)
			}
			notes := readNotes(t, f)
			entry := notes["Xen\x00"]
			if entry.kind != 18 || len(entry.desc) != 4 {
				t.Fatalf("PVH entry note: type %d, %d bytes", entry.kind, len(entry.desc))
			}
			checkSegments(t, f, uint64(binary.LittleEndian.Uint32(entry.desc)))
			if own := string(bytes.TrimRight(notes["xenvmm\x00"].desc, "\x00")); own != name {
				t.Errorf("the guest calls itself %q", own)
			}
			if !bytes.Contains(image, []byte("VERDICT %s %s")) {
				t.Error("no verdict in it")
			}
		})
	}
}

// checkSegments wants all memory of the image in one run from 1 MiB on, and the
// entry in code.
func checkSegments(t *testing.T, f *elf.File, entry uint64) {
	t.Helper()
	inside := false
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		if p.Paddr != p.Vaddr {
			t.Errorf("segment at %#x is loaded at %#x", p.Vaddr, p.Paddr)
		}
		if p.Paddr < loadBase || p.Paddr+p.Memsz > loadBase+maxRAM {
			t.Errorf("segment %#x..%#x", p.Paddr, p.Paddr+p.Memsz)
		}
		if p.Flags&elf.PF_X != 0 && entry >= p.Vaddr && entry < p.Vaddr+p.Filesz {
			inside = true
		}
	}
	if !inside || entry != f.Entry {
		t.Errorf("entry %#x: in code %v, ELF entry %#x", entry, inside, f.Entry)
	}
}

type note struct {
	kind uint32
	desc []byte
}

// readNotes decodes the PT_NOTE segments: name size, description size, type, then
// both padded to 4 bytes.
func readNotes(t *testing.T, f *elf.File) map[string]note {
	t.Helper()
	notes := map[string]note{}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		b := make([]byte, p.Filesz)
		if _, err := p.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
		for len(b) >= 12 {
			name, desc := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
			kind := binary.LittleEndian.Uint32(b[8:])
			end := 12 + (name+3)&^3 + (desc+3)&^3
			if uint64(end) > uint64(len(b)) {
				t.Fatalf("a note of %d bytes in %d", end, len(b))
			}
			start := 12 + (name+3)&^3
			notes[string(b[12:12+name])] = note{kind, b[start : start+desc]}
			b = b[end:]
		}
	}
	return notes
}
