// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"xenvmm/vmm/boot/acpi"
	"xenvmm/xenshim/abi"
)

// planner carries the state of one Plan call.
type planner struct {
	p    *Params
	img  *Image
	ram  space // all guest memory
	free space // what may still be given out
}

// Plan computes the layout of a boot without touching a guest. It reads the
// kernel file (all of it only if it must be unpacked).
func Plan(p Params) (*Image, error) {
	ram, err := p.check()
	if err != nil {
		return nil, err
	}
	pl := &planner{p: &p, ram: ram, free: ram, img: &Image{Kernel: p.Kernel.Name}}
	for _, r := range pl.reserved() {
		pl.ram, pl.free = pl.ram.remove(r), pl.free.remove(r)
	}
	if len(pl.ram) == 0 {
		return nil, fmt.Errorf("boot: all RAM lies in reserved ranges: %w", ErrNoRoom)
	}
	// Page 0 stays empty, so that a nil pointer in the guest finds nothing.
	pl.free = pl.free.remove(Range{0, pageSize})
	if err := pl.kernel(); err != nil {
		return nil, fmt.Errorf("boot: kernel %q: %w", p.Kernel.Name, err)
	}
	acpiArea, err := pl.acpi()
	if err != nil {
		return nil, fmt.Errorf("boot: ACPI tables: %w", err)
	}
	pl.free = pl.free.remove(Range{legacyStart, legacyEnd - legacyStart})
	// The info block is small and at the bottom, the initrds go to the top.
	pl.img.MemoryMap = pl.memoryMap(acpiArea)
	info, err := pl.reserveInfo()
	if err != nil {
		return nil, err
	}
	modules, err := pl.initrds()
	if err != nil {
		return nil, err
	}
	pl.writeInfo(info, modules)
	slices.SortFunc(pl.img.Layout, func(a, b Placed) int { return cmp.Compare(a.GPA, b.GPA) })
	return pl.img, nil
}

// reserved lists what is never given out: the machine's own ranges and those
// of the caller.
func (pl *planner) reserved() []Range {
	return append([]Range{
		{IOAPICBase, pageSize},
		{LAPICBase, 1 << 20},
		{SpecialBase, SpecialEnd - SpecialBase},
	}, pl.p.Reserved...)
}

// place adds something to the layout and takes its range.
func (pl *planner) place(x Placed) {
	pl.img.Layout = append(pl.img.Layout, x)
	pl.free = pl.free.remove(x.Range)
}

// kernel unpacks and parses the kernel and places its segments.
func (pl *planner) kernel() error {
	u, err := unwrap(pl.p.Kernel, MaxUnpacked)
	if err != nil {
		return err
	}
	e, err := parseELF(u.File)
	if err != nil {
		return err
	}
	notes, err := e.xenNotes()
	if err != nil {
		return err
	}
	entry, ok, err := pvhEntry(notes)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("no PVH entry note (Xen note %d); use a kernel built with CONFIG_PVH: %w", abi.ElfNotePhys32Entry, ErrUnsupported)
	}
	pl.img.Container, pl.img.Bits, pl.img.Entry, pl.img.Notes, pl.img.elf = u.Container, e.bits, entry, notes, e
	if err := pl.segments(e); err != nil {
		return err
	}
	for _, x := range pl.img.Layout {
		if uint64(entry) >= x.GPA && uint64(entry) < x.end() {
			return nil
		}
	}
	return fmt.Errorf("PVH entry %#x lies in no loaded segment: %w", entry, ErrFormat)
}

func (pl *planner) segments(e *elfFile) error {
	for i, s := range e.segments {
		if s.Type != ptLoad || s.MemSize == 0 && s.FileSize == 0 {
			continue
		}
		r := Range{s.Paddr, s.MemSize}
		if s.FileSize > s.MemSize {
			return fmt.Errorf("segment %d: file size %#x exceeds memory size %#x: %w", i, s.FileSize, s.MemSize, ErrFormat)
		}
		if !r.valid() {
			return fmt.Errorf("segment %d: address %#x + size %#x overflows: %w", i, s.Paddr, s.MemSize, ErrFormat)
		}
		for _, o := range pl.img.Layout {
			if r.overlaps(o.Range) {
				return fmt.Errorf("segment %d at %#x+%#x overlaps %s at %#x+%#x: %w", i, r.GPA, r.Size, o.Name, o.GPA, o.Size, ErrFormat)
			}
		}
		if !pl.ram.contains(r) {
			top := pl.ram[len(pl.ram)-1].end()
			return fmt.Errorf("segment %d at %#x+%#x is not all in RAM (which ends at %#x); give the guest more memory: %w", i, r.GPA, r.Size, top, ErrNoRoom)
		}
		pl.place(Placed{Range: r, Name: fmt.Sprintf("kernel segment %d", i), src: e.file.Data, off: int64(s.Offset), content: s.FileSize})
	}
	if len(pl.img.Layout) == 0 {
		return fmt.Errorf("nothing to load: no segment has a size: %w", ErrFormat)
	}
	return nil
}

// acpi places the tables: in the PC's BIOS area, where guests search by
// themselves, or, if a kernel sits there, at the top of memory below 4 GiB.
func (pl *planner) acpi() (Range, error) {
	if pl.p.NoACPI {
		return Range{}, nil
	}
	cfg := acpi.Config{CPUs: pl.p.CPUs, APICID: pl.p.APICID, PIT: pl.p.PIT, LAPIC: LAPICBase, IOAPIC: IOAPICBase}
	if pl.p.NoLines {
		cfg.IOAPIC, cfg.NoPIC = 0, true
	}
	for _, s := range pl.p.Serial {
		cfg.Serial = append(cfg.Serial, acpi.SerialPort{Port: s.Port, GSI: s.GSI})
	}
	sized, err := acpi.Build(cfg, biosStart)
	if err != nil {
		return Range{}, err
	}
	size := (uint64(len(sized.Data)) + pageSize - 1) &^ (pageSize - 1)
	gpa, ok := pl.free.lowest(Range{biosStart, legacyEnd - biosStart}, size, pageSize)
	if !ok {
		if gpa, ok = pl.free.highest(Range{legacyEnd, fourGiB - legacyEnd}, size, pageSize); !ok {
			return Range{}, pl.noRoom(size)
		}
	}
	t, err := acpi.Build(cfg, gpa)
	if err != nil {
		return Range{}, err
	}
	pl.img.RSDP = t.RSDP
	pl.place(Placed{Range: Range{gpa, size}, Name: "ACPI tables", src: bytes.NewReader(t.Data), content: uint64(len(t.Data))})
	return Range{gpa, size}, nil
}

// initrds places the modules as high as possible below 4 GiB (Linux takes
// their addresses as 32-bit numbers), the last one highest.
func (pl *planner) initrds() ([]Range, error) {
	out := make([]Range, len(pl.p.Initrds))
	for i := len(out) - 1; i >= 0; i-- {
		f := pl.p.Initrds[i]
		gpa, ok := pl.free.highest(Range{legacyEnd, fourGiB - legacyEnd}, uint64(f.Size), pageSize)
		if !ok {
			return nil, fmt.Errorf("boot: initrd %q: %w", f.Name, pl.noRoom(uint64(f.Size)))
		}
		out[i] = Range{gpa, uint64(f.Size)}
		pl.place(Placed{Range: out[i], Name: fmt.Sprintf("initrd %q", f.Name), src: f.Data, content: uint64(f.Size)})
	}
	return out, nil
}

func (pl *planner) noRoom(size uint64) error {
	l := pl.free.largest(Range{0, fourGiB})
	return fmt.Errorf("%d bytes do not fit: the largest free range below 4 GiB is %d bytes at %#x; give the guest more memory or make it smaller: %w", size, l.Size, l.GPA, ErrNoRoom)
}
