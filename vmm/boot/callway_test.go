// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"bytes"
	"errors"
	"testing"

	"xenvmm/xenshim/abi"
)

func TestWayOfHypercallsIsToldByShapeAndNotes(t *testing.T) {
	pair := []Stub{{Kind: Vmmcall, Paired: true, Loaded: true}, {Kind: Vmcall, Paired: true, Loaded: true}}
	linux := Note{Type: abi.ElfNoteGuestOS, Desc: []byte("linux\x00")}
	page := Note{Type: abi.ElfNoteHypercallPage, Desc: le64(0xffffffff81000000)}
	for _, c := range []struct {
		name  string
		notes []Note
		stubs []Stub
		want  CallWay
	}{
		{"a Linux of today", []Note{linux}, pair, ByStubs},
		{"a Linux before XSA-466", []Note{linux, page}, nil, ByPage},
		{"a Linux in transition has both", []Note{page, linux}, pair, ByStubs},
		{"a Linux whose stubs were built in another shape", []Note{linux}, []Stub{{Kind: Vmcall, Loaded: true}}, ByBareInstruction},
		{"stubs in a part that is not loaded", []Note{linux}, []Stub{{Kind: Vmmcall, Paired: true}, {Kind: Vmcall, Paired: true}}, ByBareInstruction},
		{"a Linux for PVH, but not for Xen", nil, nil, ByChoice},
		{"another system", []Note{{Type: abi.ElfNoteGuestOS, Desc: []byte("FreeBSD\x00")}}, nil, ByChoice},
		{"a name that only begins alike", []Note{{Type: abi.ElfNoteGuestOS, Desc: []byte("linuxoid\x00")}}, nil, ByChoice},
	} {
		if got := callWay(c.notes, c.stubs); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestLinuxThatCannotBeTrappedIsRefusedAndUntouched(t *testing.T) {
	spec := stubKernel(0x880, 0x40, nil, jmpThunk, true)
	spec.segs = append(spec.segs, segSpec{kind: ptNote, data: note("Xen", abi.ElfNoteGuestOS, []byte("linux\x00"), 4), align: 4})
	file := spec.build()
	img, g := mustLoad(t, testParams(file))
	before := bytes.Clone(g.mem)
	if _, n, err := img.Trap(g, [StubSize]byte{1, 2, 3}); n != 0 || !errors.Is(err, ErrUntrappable) {
		t.Errorf("%d rewritten, %v", n, err)
	}
	if !bytes.Equal(before, g.mem) {
		t.Error("the guest was changed")
	}
	rep, err := Inspect(bytes.NewReader(file), int64(len(file)))
	if err != nil || rep.Calls != ByBareInstruction {
		t.Errorf("inspect tells %q, %v", rep.Calls, err)
	}
}
