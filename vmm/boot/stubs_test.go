// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"xenvmm/vmm/boot/unpack/unpacktest"
)

var (
	insnVmcall  = []byte{0x0f, 0x01, 0xc1}
	insnVmmcall = []byte{0x0f, 0x01, 0xd9}
	jmpThunk    = []byte{0xe9, 1, 2, 3, 4}
	ret         = []byte{0xc3, 0xcc}
)

func cat(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// stubKernel has text with both stubs, the AMD one first, distance apart.
func stubKernel(at, distance int, prefix, tail []byte, sections bool) elfSpec {
	text := bytes.Repeat([]byte{0x90}, 3<<20)
	copy(text[at:], cat(prefix, insnVmmcall, tail))
	copy(text[at+distance:], cat(prefix, insnVmcall, tail))
	// What must not be taken for a stub.
	copy(text[0x100:], cat([]byte{0xb8, 5, 0, 0, 0}, insnVmcall, ret)) // KVM, unaligned
	copy(text[0x203:], cat([]byte{0xf3}, insnVmmcall, jmpThunk))       // VMGEXIT
	copy(text[0x310:], cat(insnVmmcall, []byte{0x48, 0x89}))           // aligned, but goes on
	copy(text[0x400:], cat([]byte{0x0f, 0x01, 0xca}, ret))             // CLAC
	e := elfSpec{bits: 64, segs: []segSpec{
		{kind: ptLoad, flags: 5, vaddr: 0xffffffff81000000, paddr: testLoad, data: text}, pvhNote(le64(testLoad)),
	}}
	if sections {
		e.secs = []section{
			{kind: 1, flags: shfAlloc | shfExec, vaddr: 0xffffffff81000000, offset: 0, len: uint64(len(text)) - 0x1000},
			// Data sections do not count, though the bytes match.
			{kind: 1, flags: shfAlloc, vaddr: 0xffffffff812ff000, offset: uint64(len(text)) - 0x1000, len: 0x1000},
		}
		copy(text[len(text)-0x100:], cat(insnVmmcall, ret))
	}
	return e
}

func TestFindStubs(t *testing.T) {
	for _, c := range []struct {
		name     string
		at, dist int
		prefix   []byte
		tail     []byte
		endbr    bool
		thunk    bool
	}{
		{"Linux 6.12: endbr64, return thunk", 0x8a0, 0x20, endbr64, jmpThunk, true, true},
		{"Linux 6.1: aligned, return thunk", 0x880, 0x10, nil, jmpThunk, false, true},
		{"plain return", 0x880, 0x10, nil, ret, false, false},
		{"across the scan window", scanChunk - 0x10, 0x10, nil, jmpThunk, false, true},
		{"split by the scan window", scanChunk - 5, 0x20, endbr64, jmpThunk, true, true},
		{"endbr64 before the window", scanChunk - 4, 0x20, endbr64, jmpThunk, true, true},
		{"end of the first window", scanChunk - 6, 0x20, endbr64, jmpThunk, true, true},
	} {
		for _, sections := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, sections %v", c.name, sections), func(t *testing.T) {
				img, err := Plan(testParams(stubKernel(c.at, c.dist, c.prefix, c.tail, sections).build()))
				if err != nil {
					t.Fatal(err)
				}
				stubs, err := img.FindStubs()
				if err != nil || len(stubs) != 2 {
					t.Fatalf("%+v, %v", stubs, err)
				}
				base := uint64(c.at + len(c.prefix))
				for i, s := range stubs {
					at := base + uint64(i*c.dist)
					want := Stub{Kind: []StubKind{Vmmcall, Vmcall}[i], Offset: s.Offset, Vaddr: 0xffffffff81000000 + at, GPA: testLoad + at, Loaded: true, Endbr: c.endbr, Thunk: c.thunk, Paired: true}
					if s != want {
						t.Errorf("stub %+v, want %+v", s, want)
					}
				}
			})
		}
	}
}

func TestLoneStubIsReportedNotRewritten(t *testing.T) {
	file := stubKernel(0x880, 0x40, nil, jmpThunk, true).build()
	rep, err := Inspect(bytes.NewReader(file), int64(len(file)))
	if err != nil || len(rep.Stubs) != 2 || len(rep.Warnings) != 2 {
		t.Fatalf("%+v, %v", rep, err)
	}
	img, g := mustLoad(t, testParams(file))
	if way, n, err := img.Trap(g, [3]byte{1, 2, 3}); way != ByChoice || n != 0 || err != nil {
		t.Errorf("%s, %d rewritten, %v", way, n, err)
	}
}

func TestRewriteStubs(t *testing.T) {
	img, g := mustLoad(t, testParams(stubKernel(0x8a0, 0x20, endbr64, jmpThunk, true).build()))
	out := [3]byte{0xe7, 0xfa, 0x90}
	before := bytes.Clone(g.mem)
	if way, n, err := img.Trap(g, out); way != ByStubs || n != 2 || err != nil {
		t.Fatalf("%s, %d rewritten, %v", way, n, err)
	}
	for _, at := range []int{0x8a4, 0x8c4} {
		copy(before[testLoad+at:], out[:])
	}
	if !bytes.Equal(before, g.mem) || !bytes.Equal(g.mem[testLoad+0x8a4:testLoad+0x8a7], out[:]) || !bytes.Equal(g.mem[testLoad+0x8c4:testLoad+0x8c7], out[:]) {
		t.Error("not exactly the two instructions were replaced")
	}
	if _, _, err := img.Trap(g, out); err == nil {
		t.Error("a second rewrite did not notice that the bytes are gone")
	}
}

// TestScanFindsWhatASimpleScanFinds compares the windowed scan with a direct
// one over the whole text.
func TestScanFindsWhatASimpleScanFinds(t *testing.T) {
	pieces := [][]byte{endbr64, insnVmcall, insnVmmcall, ret, {0xe9}, {0x90}, {0x0f}, {0x01}, bytes.Repeat([]byte{0x90}, 16)}
	rapid.Check(t, func(t *rapid.T) {
		var text []byte
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(pieces)-1), 1, 60).Draw(t, "pieces") {
			text = append(text, pieces[i]...)
		}
		var want []uint64
		for i := 0; i+4 <= len(text); i++ {
			if text[i] != 0x0f || text[i+1] != 0x01 || text[i+2] != 0xc1 && text[i+2] != 0xd9 || text[i+3] != 0xe9 && text[i+3] != 0xc3 {
				continue
			}
			if i%16 == 0 || i >= 4 && bytes.Equal(text[i-4:i], endbr64) {
				want = append(want, uint64(i))
			}
		}
		split := rapid.IntRange(0, len(text)).Draw(t, "split")
		lo := max(0, split-scanBack)
		got := scanStubs(text[:min(len(text), split+scanAhead)], 0, 0, split)
		got = append(got, scanStubs(text[lo:], uint64(lo), split-lo, len(text)-lo)...)
		var at []uint64
		for _, s := range got {
			at = append(at, s.Vaddr)
		}
		if fmt.Sprint(at) != fmt.Sprint(want) {
			t.Fatalf("found %v, want %v in % x split at %d", at, want, text, split)
		}
	})
}

func BenchmarkFindStubs(b *testing.B) {
	text := unpacktest.Code(16<<20, 1)
	e := elfSpec{bits: 64, segs: []segSpec{{kind: ptLoad, flags: 5, vaddr: testLoad, paddr: testLoad, data: text}, pvhNote(le64(testLoad))}}
	p := testParams(e.build())
	img, err := Plan(p)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := img.FindStubs(); err != nil {
			b.Fatal(err)
		}
	}
}
