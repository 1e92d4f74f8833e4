// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"xenvmm/vmm/boot/unpack/unpacktest"
	"xenvmm/xenshim/abi"
)

// linuxNotes are the notes of a Debian vmlinux: texts, 8-byte numbers, and
// one that is neither.
func linuxNotes() []byte {
	return cat(
		note("GNU", 3, pattern(20, 1), 4),
		note("Xen", abi.ElfNoteGuestOS, []byte("linux\x00"), 4),
		note("Xen", abi.ElfNoteGuestVersion, []byte("2.6\x00"), 4),
		note("Xen", abi.ElfNoteXenVersion, []byte("xen-3.0\x00"), 4),
		note("Xen", abi.ElfNoteHypercallPage, le64(0xffffffff82000000), 4),
		note("Xen", abi.ElfNoteVirtBase, le64(0xffffffff80000000), 4),
		note("Xen", abi.ElfNoteFeatures, []byte("!writable_page_tables|pae_pgdir_above_4gb\x00"), 4),
		note("Xen", abi.ElfNoteSupportedFeatures, le32(0x8801), 4),
		note("Xen", abi.ElfNoteL1MFNValid, append(le64(1), le64(1)...), 4),
		note("Xen", abi.ElfNotePhys32Entry, le64(testLoad+0x20), 4),
		note("Linux", 0x101, []byte{0}, 4),
		note("Xen", 99, le32(7), 4),
	)
}

func TestInspectListsAKernel(t *testing.T) {
	e := testKernel(64)
	e.segs[2] = segSpec{kind: ptNote, data: linuxNotes(), align: 4}
	file := e.build()
	rep, err := Inspect(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if rep.Kind != "ELF64" || rep.Machine != "x86-64" || rep.PVHEntry != testLoad+0x20 || len(rep.Notes) != 10 || len(rep.Segments) != 2 || len(rep.Warnings) != 0 {
		t.Errorf("%+v", rep)
	}
	text := rep.String()
	for _, want := range []string{
		`GUEST_OS = "linux"`, `XEN_VERSION = "xen-3.0"`, "VIRT_BASE = 0xffffffff80000000", "SUPPORTED_FEATURES = 0x8801",
		"L1_MFN_VALID = 01 00", "PHYS32_ENTRY = 0x1000020", "note 99 = 0x7", "calls     page", "r-x", "rw-", "PVH entry 0x1000020",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("report lacks %q:\n%s", want, text)
		}
	}
}

func TestInspectSaysWhatIsWrong(t *testing.T) {
	entryOutside := testKernel(64)
	entryOutside.segs[2] = pvhNote(le64(0x10))
	badSections := testKernel(64)
	badSections.secs = []section{{kind: 1, flags: shfAlloc | shfExec, offset: 1 << 40, len: 1}}
	noLoad := elfSpec{bits: 32, machine: machine386, segs: []segSpec{{kind: 6}}}
	for _, c := range []struct {
		name, kind string
		file       []byte
		warning    string
	}{
		{"text", "other", []byte("hello, world"), "ELF magic"},
		{"empty file", "other", nil, "ELF magic"},
		{"nothing loadable", "ELF32", noLoad.build(), "no loadable segments"},
		{"no note", "ELF32", noLoad.build(), "no PVH entry note"},
		{"entry outside", "ELF64", entryOutside.build(), "0x10 lies in no loadable segment"},
		{"damaged sections", "ELF64", badSections.build(), "section table"},
		{"damaged gzip", "gzip", []byte{0x1f, 0x8b, 8}, "gzip"},
		{"damaged bzImage", "bzImage", unpacktest.BzImage([]byte("12345678")), "payload"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rep, err := Inspect(bytes.NewReader(c.file), int64(len(c.file)))
			if err != nil {
				t.Fatal(err)
			}
			if rep.Kind != c.kind || !strings.Contains(strings.Join(rep.Warnings, "\n"), c.warning) {
				t.Errorf("kind %q, warnings %q", rep.Kind, rep.Warnings)
			}
		})
	}
}

// brokenFile fails every read.
type brokenFile struct{ err error }

func (b brokenFile) ReadAt([]byte, int64) (int, error) { return 0, b.err }

func TestReadErrorsAreNotTakenForDamage(t *testing.T) {
	disk := errors.New("disk on fire")
	if _, err := Inspect(brokenFile{disk}, 100); !errors.Is(err, disk) {
		t.Errorf("Inspect: %v", err)
	}
	p := testParams(nil)
	p.Kernel = File{Name: "k", Data: brokenFile{disk}, Size: 100}
	if _, err := Plan(p); !errors.Is(err, disk) {
		t.Errorf("Plan: %v", err)
	}
	if _, err := Inspect(bytes.NewReader(make([]byte, 10)), 100); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file shorter than it says: %v", err)
	}
	if _, err := Inspect(bytes.NewReader(nil), -1); err == nil {
		t.Error("negative size accepted")
	}
}
