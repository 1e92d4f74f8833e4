// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"fmt"
	"io"
	"strings"
)

// Report is what Inspect found in a kernel file.
type Report struct {
	Kind        string    // "ELF32", "ELF64", "ELF64 in bzImage", "bzImage", "gzip", "other"
	Container   Container // what the ELF file was wrapped in
	Compression string    // of the wrapped kernel
	Size        int64     // of the file, in bytes
	Unpacked    int64     // of the ELF file
	Bits        int       // 32 or 64; 0 if there is no ELF file
	Machine     string    // "i386", "x86-64"
	ELFEntry    uint64    // the ELF header's entry point, a virtual address
	PVH         bool      // has a PVH entry note
	PVHEntry    uint32    // its value, a physical address
	Notes       []Note
	Segments    []Segment // loadable ones
	Calls       CallWay   // how it makes hypercalls; "" if there is no ELF file
	Stubs       []Stub    // hypercall stubs in the code
	Warnings    []string  // what stands in the way of booting, and oddities
}

// Inspect examines a kernel file of size bytes. Damage inside the file becomes
// a warning of the report; an error means that the file could not be read or
// is too large to unpack.
func Inspect(r io.ReaderAt, size int64) (*Report, error) {
	if size < 0 {
		return nil, fmt.Errorf("boot: inspect: file size %d: %w", size, ErrLimit)
	}
	f := File{Name: "kernel", Data: r, Size: size}
	rep := &Report{Kind: "other", Size: size}
	u, err := unwrap(f, MaxUnpacked)
	rep.Container, rep.Compression = u.Container, u.Compression
	if u.Container != Plain {
		rep.Kind = string(u.Container)
	}
	if err != nil {
		if !isFileFault(err) {
			return nil, fmt.Errorf("boot: inspect: %w", err)
		}
		rep.warn("%v", err)
		return rep, nil
	}
	rep.Unpacked = u.Size
	e, err := parseELF(u.File)
	if err != nil {
		if !isFileFault(err) {
			return nil, fmt.Errorf("boot: inspect: %w", err)
		}
		rep.warn("%v", err)
		return rep, nil
	}
	rep.Bits, rep.ELFEntry = e.bits, e.entry
	rep.Kind = fmt.Sprintf("ELF%d", e.bits)
	if u.Container != Plain {
		rep.Kind += " in " + string(u.Container)
	}
	rep.Machine = map[uint16]string{machine386: "i386", machineX86_64: "x86-64"}[e.machine]
	for _, s := range e.segments {
		if s.Type == ptLoad {
			rep.Segments = append(rep.Segments, s)
		}
	}
	rep.notes(e)
	rep.stubs(e)
	return rep, nil
}

func (rep *Report) warn(format string, args ...any) {
	rep.Warnings = append(rep.Warnings, fmt.Sprintf(format, args...))
}

func (rep *Report) notes(e *elfFile) {
	notes, err := e.xenNotes()
	if err != nil {
		rep.warn("%v", err)
	}
	rep.Notes = notes
	rep.PVHEntry, rep.PVH, err = pvhEntry(notes)
	switch {
	case err != nil:
		rep.warn("%v", err)
	case !rep.PVH:
		rep.warn("no PVH entry note: cannot be booted here")
	case !e.loads(uint64(rep.PVHEntry)):
		rep.warn("PVH entry %#x lies in no loadable segment", rep.PVHEntry)
	}
	if len(rep.Segments) == 0 {
		rep.warn("no loadable segments")
	}
	if e.secErr != nil {
		rep.warn("section table: %v", e.secErr)
	}
}

// loads reports whether a loadable segment covers a physical address.
func (e *elfFile) loads(gpa uint64) bool {
	for _, s := range e.segments {
		if s.Type == ptLoad && gpa >= s.Paddr && gpa-s.Paddr < s.MemSize {
			return true
		}
	}
	return false
}

func (rep *Report) stubs(e *elfFile) {
	var err error
	if rep.Stubs, err = e.stubs(); err != nil {
		rep.warn("%v", err)
	}
	rep.Calls = callWay(rep.Notes, rep.Stubs)
	if rep.Calls == ByBareInstruction {
		rep.warn("a Linux without the pair of hypercall stubs and without a hypercall page: as a Xen guest it runs only where KVM intercepts hypercalls")
	}
	for _, s := range rep.Stubs {
		if !s.Paired {
			rep.warn("%s stub at %#x has no partner: it is left alone", s.Kind, s.Vaddr)
		}
	}
}

// String renders the report for people.
func (rep *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "kind      %s, %d bytes", rep.Kind, rep.Size)
	if rep.Container != Plain {
		fmt.Fprintf(&b, " (%s, unpacked %d bytes)", rep.Compression, rep.Unpacked)
	}
	b.WriteByte('\n')
	if rep.Bits != 0 {
		fmt.Fprintf(&b, "machine   %s, ELF entry %#x\n", rep.Machine, rep.ELFEntry)
	}
	if rep.PVH {
		fmt.Fprintf(&b, "PVH entry %#x\n", rep.PVHEntry)
	}
	for _, s := range rep.Segments {
		fmt.Fprintf(&b, "segment   paddr %#x vaddr %#x file %#x memory %#x %s\n", s.Paddr, s.Vaddr, s.FileSize, s.MemSize, flagString(s.Flags))
	}
	for _, n := range rep.Notes {
		fmt.Fprintf(&b, "note      %s\n", n)
	}
	for _, s := range rep.Stubs {
		style := "aligned"
		if s.Endbr {
			style = "endbr64"
		}
		ret := "ret"
		if s.Thunk {
			ret = "return thunk"
		}
		fmt.Fprintf(&b, "stub      %s offset %#x vaddr %#x (%s, %s)%s\n", s.Kind, s.Offset, s.Vaddr, style, ret, s.fate())
	}
	if rep.Calls != "" {
		fmt.Fprintf(&b, "calls     %s\n", rep.Calls)
	}
	for _, w := range rep.Warnings {
		fmt.Fprintf(&b, "warning   %s\n", w)
	}
	return b.String()
}

// fate tells what is done with a stub where KVM does not intercept hypercalls.
func (s Stub) fate() string {
	switch {
	case !s.Paired:
		return ": left alone, no partner"
	case !s.Loaded:
		return ": left alone, not loaded"
	}
	return fmt.Sprintf(": rewritten at gpa %#x", s.GPA)
}

func flagString(f uint32) string {
	s := []byte("---")
	for i, bit := range []uint32{4, 2, 1} {
		if f&bit != 0 {
			s[i] = "rwx"[i]
		}
	}
	return string(s)
}
