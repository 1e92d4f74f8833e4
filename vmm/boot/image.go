// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"fmt"
	"io"
	"strings"

	"xenvmm/xenshim/abi"
)

// Guest is the memory an image is written into.
type Guest interface {
	// WriteAt writes all of p at the guest physical address or fails.
	WriteAt(p []byte, gpa uint64) error
}

// MapEntry is one line of the guest's memory map, as the start info and
// XENMEM_memory_map report it.
type MapEntry struct {
	Range
	Type abi.MemmapType
}

// Placed is one thing in the layout. Its content comes from the file, followed
// by zeros up to Size.
type Placed struct {
	Range
	Name string

	src     io.ReaderAt
	off     int64
	content uint64 // bytes from src; at most Size
}

// Image is a boot image planned for one guest: where everything goes and how
// the first vCPU starts.
type Image struct {
	Kernel    string // the kernel file's name
	Container Container
	Bits      int        // 32 or 64: the class of the kernel's ELF file
	Entry     uint32     // guest physical address of the PVH entry point
	StartInfo uint64     // guest physical address of the hvm_start_info
	RSDP      uint64     // guest physical address of the ACPI root pointer, 0 if none
	Layout    []Placed   // what Write writes, by address
	MemoryMap []MapEntry // by address, no overlaps
	Notes     []Note     // the kernel's Xen notes

	elf *elfFile
}

// Load plans an image and writes it into the guest.
func Load(g Guest, p Params) (*Image, error) {
	img, err := Plan(p)
	if err != nil {
		return nil, err
	}
	return img, img.Write(g)
}

// writeChunk is how much is read from a file and written to the guest at once.
const writeChunk = 256 << 10

// Write copies the image into guest memory: contents first, then zeros up to
// each thing's size (a kernel's bss must be zero also when the guest is
// reloaded after a reset).
func (m *Image) Write(g Guest) error {
	buf := make([]byte, writeChunk)
	for _, p := range m.Layout {
		for done := uint64(0); done < p.content; {
			b := buf[:min(p.content-done, writeChunk)]
			n, err := p.src.ReadAt(b, p.off+int64(done))
			if n < len(b) {
				if err == nil || err == io.EOF {
					err = io.ErrUnexpectedEOF
				}
				return fmt.Errorf("boot: read %s (%d bytes) at offset %#x: %w", p.Name, p.content, p.off+int64(done), err)
			}
			if err := g.WriteAt(b, p.GPA+done); err != nil {
				return fmt.Errorf("boot: write %s at %#x: %w", p.Name, p.GPA+done, err)
			}
			done += uint64(len(b))
		}
		clear(buf)
		for done := p.content; done < p.Size; {
			b := buf[:min(p.Size-done, writeChunk)]
			if err := g.WriteAt(b, p.GPA+done); err != nil {
				return fmt.Errorf("boot: clear %s at %#x: %w", p.Name, p.GPA+done, err)
			}
			done += uint64(len(b))
		}
	}
	return nil
}

// String lists layout and memory map, one line each, for a dry run.
func (m *Image) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "kernel %s: ELF%d", m.Kernel, m.Bits)
	if m.Container != Plain {
		fmt.Fprintf(&b, " in %s", m.Container)
	}
	fmt.Fprintf(&b, ", entry %#x, start info %#x, RSDP %#x\n", m.Entry, m.StartInfo, m.RSDP)
	for _, p := range m.Layout {
		fmt.Fprintf(&b, "  %#012x-%#012x %10d bytes  %s\n", p.GPA, p.end()-1, p.Size, p.Name)
	}
	b.WriteString("memory map\n")
	for _, e := range m.MemoryMap {
		fmt.Fprintf(&b, "  %#012x-%#012x %7d KiB  %s\n", e.GPA, e.end()-1, e.Size>>10, e.Type)
	}
	return b.String()
}
