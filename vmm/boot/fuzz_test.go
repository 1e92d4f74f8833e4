// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"testing"

	"xenvmm/vmm/boot/unpack/unpacktest"
	"xenvmm/xenshim/abi"
)

func seeds(f *testing.F) {
	k64, k32 := testKernel(64).build(), testKernel(32).build()
	small := elfSpec{bits: 64, segs: []segSpec{
		{kind: ptLoad, flags: 5, vaddr: 0x100000, paddr: 0x100000, data: cat(insnVmmcall, ret, make([]byte, 11), insnVmcall, ret)},
		{kind: ptNote, data: note("Xen", abi.ElfNotePhys32Entry, le64(0x100000), 8), align: 8},
	}, secs: []section{{kind: 1, flags: shfAlloc | shfExec, vaddr: 0x100000, len: 20}}}.build()
	f.Add(small)
	f.Add(k64)
	f.Add(k32)
	f.Add(unpacktest.Pack(f, "gzip", small))
	for _, method := range []string{"gzip", "zstd", "xz"} {
		f.Add(unpacktest.BzImage(unpacktest.Payload(f, method, small)))
	}
	f.Add([]byte("\x7fELF"))
	f.Add([]byte{})
}

// FuzzLoad feeds hostile kernels: Load must not panic, and what it accepts
// must be laid out soundly and be written without touching anything else.
func FuzzLoad(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, file []byte) {
		p := testParams(file)
		p.RAM = []Range{{0, 2 << 20}, {fourGiB, 1 << 20}}
		p.Cmdline = "fuzz"
		img, err := Plan(p)
		if err != nil {
			return
		}
		checkLayout(t, p, img)
		if !img.covers(img.Entry) {
			t.Fatalf("entry %#x outside the image", img.Entry)
		}
		w := recorder{img: img, t: t}
		if err := img.Write(w); err != nil {
			t.Fatal(err)
		}
		if _, err := img.FindStubs(); err != nil && !isFileFault(err) {
			t.Fatal(err)
		}
	})
}

func (m *Image) covers(gpa uint32) bool {
	for _, x := range m.Layout {
		if uint64(gpa) >= x.GPA && uint64(gpa) < x.end() {
			return true
		}
	}
	return false
}

// recorder checks that every write stays in the layout.
type recorder struct {
	img *Image
	t   *testing.T
}

func (r recorder) WriteAt(p []byte, gpa uint64) error {
	for _, x := range r.img.Layout {
		if gpa >= x.GPA && gpa+uint64(len(p)) <= x.end() {
			return nil
		}
	}
	r.t.Fatalf("write of %d bytes at %#x outside the layout", len(p), gpa)
	return nil
}

// FuzzInspect: any file gives a report.
func FuzzInspect(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, file []byte) {
		rep, err := Inspect(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		if len(rep.String()) == 0 {
			t.Fatal("empty report")
		}
	})
}

// FuzzNotes: the parser stays inside its bytes and terminates.
func FuzzNotes(f *testing.F) {
	f.Add(note("Xen", abi.ElfNotePhys32Entry, le64(1), 4), uint64(4))
	f.Add(note("GNU", 3, pattern(20, 1), 8), uint64(8))
	f.Fuzz(func(t *testing.T, p []byte, align uint64) {
		notes, err := parseNotes(nil, p, align)
		if err == nil {
			_, _, _ = pvhEntry(notes)
		}
	})
}
