// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"xenvmm/xenshim/abi"
)

const testRAM = 33 << 20

func testParams(kernel []byte) Params {
	return Params{Kernel: Bytes("vmlinux", kernel), RAM: []Range{{0, testRAM}}, CPUs: 1}
}

func mustLoad(t *testing.T, p Params) (*Image, *memGuest) {
	t.Helper()
	g := newGuest(testRAM)
	img, err := Load(g, p)
	if err != nil {
		t.Fatal(err)
	}
	return img, g
}

// startInfo is the boot block as a guest reads it.
type startInfo struct {
	magic, version, flags, modules uint32
	modlist, cmdline, rsdp, memmap uint64
	entries                        uint32
	mods                           [][3]uint64
	maps                           []MapEntry
	cmdlineText                    string
	moduleCmdline                  []string
}

func readStartInfo(g *memGuest, gpa uint64) (s startInfo) {
	le := binary.LittleEndian
	p := g.mem[gpa:]
	s.magic, s.version, s.flags, s.modules = le.Uint32(p), le.Uint32(p[4:]), le.Uint32(p[8:]), le.Uint32(p[12:])
	s.modlist, s.cmdline, s.rsdp, s.memmap = le.Uint64(p[16:]), le.Uint64(p[24:]), le.Uint64(p[32:]), le.Uint64(p[40:])
	s.entries = le.Uint32(p[48:])
	str := func(at uint64) string {
		if at == 0 {
			return ""
		}
		q := g.mem[at:]
		return string(q[:bytes.IndexByte(q, 0)])
	}
	for i := range uint64(s.modules) {
		q := g.mem[s.modlist+32*i:]
		s.mods = append(s.mods, [3]uint64{le.Uint64(q), le.Uint64(q[8:]), le.Uint64(q[16:])})
		s.moduleCmdline = append(s.moduleCmdline, str(le.Uint64(q[16:])))
	}
	for i := range uint64(s.entries) {
		q := g.mem[s.memmap+24*i:]
		s.maps = append(s.maps, MapEntry{Range{le.Uint64(q), le.Uint64(q[8:])}, abi.MemmapType(le.Uint32(q[16:]))})
	}
	s.cmdlineText = str(s.cmdline)
	return s
}

func TestLoadCopiesSegmentsAndClearsBSS(t *testing.T) {
	for _, bits := range []int{32, 64} {
		t.Run(fmt.Sprint(bits), func(t *testing.T) {
			img, g := mustLoad(t, testParams(testKernel(bits).build()))
			if img.Entry != testLoad+0x20 || img.Bits != bits {
				t.Errorf("entry %#x bits %d", img.Entry, img.Bits)
			}
			if !bytes.Equal(g.mem[testLoad:testLoad+0x3000], pattern(0x3000, 1)) {
				t.Error("text differs")
			}
			data := g.mem[testLoad+0x4000 : testLoad+0x6800]
			if !bytes.Equal(data[:0x123], pattern(0x123, 2)) || !bytes.Equal(data[0x123:], make([]byte, 0x2800-0x123)) {
				t.Error("data or bss differs")
			}
			// A reload after the guest has run restores everything.
			for i := range g.mem {
				g.mem[i] = 0x55
			}
			if err := img.Write(g); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(g.mem[testLoad+0x4123:testLoad+0x6800], make([]byte, 0x2800-0x123)) {
				t.Error("bss is not cleared by a reload")
			}
		})
	}
}

func TestStartInfoDescribesTheBoot(t *testing.T) {
	p := testParams(testKernel(64).build())
	p.Cmdline = "console=hvc0 a=b"
	a, b := pattern(5000, 3), pattern(70000, 4)
	p.Initrds = []File{Bytes("a.cpio", a), Bytes("b.cpio", b)}
	p.Initrds[1].Cmdline = "second"
	img, g := mustLoad(t, p)
	s := readStartInfo(g, img.StartInfo)
	if s.magic != 0x336ec578 || s.version != 1 || s.flags != 0 || s.modules != 2 || s.cmdlineText != p.Cmdline {
		t.Fatalf("start info %+v", s)
	}
	for i, want := range [][]byte{a, b} {
		m := s.mods[i]
		if m[0]%pageSize != 0 || m[1] != uint64(len(want)) || !bytes.Equal(g.mem[m[0]:m[0]+m[1]], want) {
			t.Errorf("module %d at %#x+%#x differs", i, m[0], m[1])
		}
	}
	if s.moduleCmdline[0] != "" || s.moduleCmdline[1] != "second" {
		t.Errorf("module command lines %q", s.moduleCmdline)
	}
	if string(g.mem[s.rsdp:s.rsdp+8]) != "RSD PTR " || s.rsdp != img.RSDP || s.rsdp < 0xe0000 || s.rsdp >= 0x100000 {
		t.Errorf("RSDP at %#x", s.rsdp)
	}
	if fmt.Sprint(s.maps) != fmt.Sprint(img.MemoryMap) {
		t.Errorf("memory map in the guest %v, in the image %v", s.maps, img.MemoryMap)
	}
	text := img.String()
	for _, want := range []string{"kernel segment 0", `initrd "a.cpio"`, "ACPI tables", "start info", "RAM"} {
		if !strings.Contains(text, want) {
			t.Errorf("dry run listing lacks %q:\n%s", want, text)
		}
	}
}

func TestCommandLineIsThereWithoutInitrd(t *testing.T) {
	p := testParams(testKernel(64).build())
	p.Cmdline = "a=b"
	img, g := mustLoad(t, p)
	s := readStartInfo(g, img.StartInfo)
	if s.cmdlineText != "a=b" || s.modules != 0 || s.modlist != 0 {
		t.Errorf("%+v", s)
	}
}

func TestCommandLineLimits(t *testing.T) {
	kernel := testKernel(64).build()
	for _, c := range []struct {
		name, line string
		want       []string
	}{
		{"longest", strings.Repeat("x", 2047), nil},
		{"empty", "", nil},
		{"too long", strings.Repeat("x", 2048), []string{"2048", "2047"}},
		{"NUL", "a\x00b", []string{"NUL", "offset 1"}},
		{"NUL at the end", "ab\x00", []string{"NUL", "offset 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := testParams(kernel)
			p.Cmdline = c.line
			g := newGuest(testRAM)
			img, err := Load(g, p)
			if c.want == nil {
				if err != nil {
					t.Fatal(err)
				}
				if got := readStartInfo(g, img.StartInfo).cmdlineText; got != c.line {
					t.Errorf("guest sees %d bytes of %d", len(got), len(c.line))
				}
				return
			}
			checkError(t, err, ErrLimit, c.want...)
		})
	}
}

func checkError(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error %v is not %v", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q lacks %q", err, w)
		}
	}
}

func TestInitrdIsNeverCutShort(t *testing.T) {
	kernel := testKernel(64).build()
	t.Run("too large", func(t *testing.T) {
		p := testParams(kernel)
		p.Initrds = []File{Bytes("big.cpio", make([]byte, 20<<20))}
		_, err := Plan(p)
		checkError(t, err, ErrNoRoom, "big.cpio", fmt.Sprint(20<<20), "memory")
	})
	t.Run("just fits", func(t *testing.T) {
		p := testParams(kernel)
		data := pattern(testRAM-testLoad-0x7000, 9)
		p.Initrds = []File{Bytes("fit.cpio", data)}
		img, g := mustLoad(t, p)
		m := readStartInfo(g, img.StartInfo).mods[0]
		if m[0] != testLoad+0x7000 || !bytes.Equal(g.mem[m[0]:m[0]+m[1]], data) {
			t.Errorf("at %#x", m[0])
		}
	})
	t.Run("empty", func(t *testing.T) {
		p := testParams(kernel)
		p.Initrds = []File{Bytes("empty.cpio", nil)}
		_, err := Plan(p)
		checkError(t, err, ErrLimit, "empty.cpio")
	})
	t.Run("stays below 4 GiB", func(t *testing.T) {
		p := testParams(kernel)
		p.RAM = []Range{{0, 0xd0000000}, {1 << 32, 8 << 30}}
		p.Initrds = []File{{Name: "i", Data: bytes.NewReader(nil), Size: 1 << 20}}
		img, err := Plan(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range img.Layout {
			if x.end() > 0xd0000000 {
				t.Errorf("%s at %#x", x.Name, x.GPA)
			}
		}
	})
	t.Run("shrunk while loading", func(t *testing.T) {
		p := testParams(kernel)
		p.Initrds = []File{{Name: "short.cpio", Data: bytes.NewReader(make([]byte, 100)), Size: 5000}}
		_, err := Load(newGuest(testRAM), p)
		if err == nil || !strings.Contains(err.Error(), "short.cpio") {
			t.Errorf("error %v", err)
		}
	})
}

func TestJoinPadsToFourBytes(t *testing.T) {
	a, b, c := pattern(5, 1), pattern(8, 2), pattern(3, 3)
	f := Join("all", Bytes("a", a), Bytes("b", b), Bytes("c", c))
	want := append(append(append(append([]byte{}, a...), 0, 0, 0), b...), append(append([]byte{}, c...), 0)...)
	if f.Size != int64(len(want)) {
		t.Fatalf("size %d, want %d", f.Size, len(want))
	}
	for off := range want {
		for n := 1; n <= len(want)-off; n++ {
			p := bytes.Repeat([]byte{0xee}, n)
			if err := f.readAt(p, int64(off)); err != nil || !bytes.Equal(p, want[off:off+n]) {
				t.Fatalf("read %d at %d: % x, %v", n, off, p, err)
			}
		}
	}
	if err := f.readAt(make([]byte, 2), f.Size-1); err == nil {
		t.Error("read over the end succeeded")
	}
	if Join("none").Size != 0 {
		t.Error("joining nothing has a size")
	}
}

func TestKernelsAtAwkwardPlaces(t *testing.T) {
	at := func(gpa uint64, size int) Params {
		return testParams(elfSpec{bits: 64, segs: []segSpec{
			{kind: ptLoad, flags: 7, vaddr: gpa, paddr: gpa, data: pattern(size, 7)}, pvhNote(le64(gpa)),
		}}.build())
	}
	for _, c := range []struct {
		name string
		gpa  uint64
		size int
	}{
		{"address zero", 0, 0x2000},
		{"all of low memory", 0x1000, 0x9f000},
		{"over the BIOS area", 0x90000, 0x80000},
		{"top of RAM", testRAM - 0x10000, 0x10000},
		{"nearly everything", 0x10000, testRAM - 0x30000},
		{"odd address", 0x100001, 0x777},
	} {
		t.Run(c.name, func(t *testing.T) {
			img, g := mustLoad(t, at(c.gpa, c.size))
			if !bytes.Equal(g.mem[c.gpa:c.gpa+uint64(c.size)], pattern(c.size, 7)) {
				t.Error("kernel was overwritten")
			}
			if s := readStartInfo(g, img.StartInfo); s.magic != abi.StartInfoMagic || string(g.mem[s.rsdp:s.rsdp+8]) != "RSD PTR " {
				t.Errorf("start info %+v", s)
			}
		})
	}
}

func TestLoadRefusesBadParameters(t *testing.T) {
	kernel := testKernel(64).build()
	for _, c := range []struct {
		name  string
		edit  func(*Params)
		kind  error
		words []string
	}{
		{"no RAM", func(p *Params) { p.RAM = nil }, ErrNoRoom, []string{"RAM"}},
		{"RAM wraps", func(p *Params) { p.RAM = []Range{{1 << 63, 1 << 63}} }, ErrLimit, []string{"0x8000000000000000"}},
		{"RAM unaligned", func(p *Params) { p.RAM = []Range{{0, 4097}} }, ErrLimit, []string{"page aligned"}},
		{"RAM overlaps", func(p *Params) { p.RAM = []Range{{0, 8192}, {4096, 8192}} }, ErrLimit, []string{"overlap"}},
		{"RAM all reserved", func(p *Params) { p.Reserved = []Range{{0, testRAM}} }, ErrNoRoom, []string{"reserved"}},
		{"reserved wraps", func(p *Params) { p.Reserved = []Range{{4096, ^uint64(0)}} }, ErrLimit, []string{"reserved"}},
		{"no CPUs", func(p *Params) { p.CPUs = 0 }, ErrLimit, []string{"0 CPUs", "4096"}},
		{"too many CPUs", func(p *Params) { p.CPUs = 4097 }, ErrLimit, []string{"4097"}},
		{"no kernel", func(p *Params) { p.Kernel = File{Name: "none"} }, ErrFormat, []string{"none", "empty"}},
		{"too many initrds", func(p *Params) { p.Initrds = make([]File, 65) }, ErrLimit, []string{"65", "64"}},
		{"little RAM", func(p *Params) { p.RAM = []Range{{0, 4 << 20}} }, ErrNoRoom, []string{"segment 0", "0x1000000", "memory"}},
		{"kernel in reserved", func(p *Params) { p.Reserved = []Range{{testLoad + 0x2000, 1}} }, ErrNoRoom, []string{"segment 0"}},
		{"duplicate APIC ids", func(p *Params) { p.CPUs = 2; p.APICID = func(int) uint32 { return 7 } }, nil, []string{"APIC id 0x7"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := testParams(kernel)
			c.edit(&p)
			_, err := Plan(p)
			if c.kind == nil {
				c.kind = err
			}
			if err == nil {
				t.Fatal("accepted")
			}
			checkError(t, err, c.kind, c.words...)
		})
	}
}

func TestLoadNamesWhatCannotBeWritten(t *testing.T) {
	_, err := Load(newGuest(testLoad), testParams(testKernel(64).build()))
	if err == nil || !strings.Contains(err.Error(), "kernel segment 0") {
		t.Errorf("error %v", err)
	}
}

func TestManyCPUs(t *testing.T) {
	p := testParams(testKernel(64).build())
	p.CPUs = MaxCPUs
	p.APICID = func(i int) uint32 { return uint32(2 * i) }
	img, _ := mustLoad(t, p)
	if img.RSDP < biosStart || img.RSDP >= legacyEnd {
		t.Errorf("tables for %d CPUs at %#x, not in the BIOS area", p.CPUs, img.RSDP)
	}
}

func TestEntryStateIsTheProtocols(t *testing.T) {
	img := &Image{Entry: 0x1000a30, StartInfo: 0x10000}
	s := img.EntryState()
	if s.RIP != 0x1000a30 || s.RBX != 0x10000 || s.RFLAGS != 2 || s.CR0&^uint64(cr0ET) != 1 || s.CR3|s.CR4|s.EFER != 0 {
		t.Errorf("%+v", s)
	}
	for i, d := range []SegmentRegister{s.DS, s.ES, s.SS} {
		if d.Base != 0 || d.Limit != 0xffffffff || d.Type != 3 || !d.Big || !d.Granular || !d.Present || d.System || d.Long {
			t.Errorf("data segment %d: %+v", i, d)
		}
	}
	if s.CS.Type != 0xb || s.CS.Long || !s.CS.Big || s.TR.Limit != 0x67 || s.TR.Type != 0xb || !s.TR.System {
		t.Errorf("CS %+v TR %+v", s.CS, s.TR)
	}
}
