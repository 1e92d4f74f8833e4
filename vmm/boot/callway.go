// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"fmt"
	"strings"

	"xenvmm/xenshim/abi"
)

// CallWay is how a kernel makes its hypercalls, as far as its file shows.
type CallWay string

const (
	// ByStubs is by the pair of functions that Stub describes.
	ByStubs CallWay = "stubs"
	// ByPage is by a hypercall page whose place the kernel names
	// (XEN_ELFNOTE_HYPERCALL_PAGE), and which it asks for at run time.
	ByPage CallWay = "page"
	// ByBareInstruction is a Linux that neither names a page nor has the pair: it
	// can be no Xen guest unless KVM intercepts the instruction.
	ByBareInstruction CallWay = "bare instruction"
	// ByChoice is everything else. The file does not tell: such a guest asks for a
	// page when it runs, or makes no hypercalls.
	ByChoice CallWay = "not known before it runs"
)

// callWay decides by shape and notes, not by a list of versions.
func callWay(notes []Note, stubs []Stub) CallWay {
	for _, s := range stubs {
		if s.Paired && s.Loaded {
			return ByStubs
		}
	}
	linux := false
	for _, n := range notes {
		switch n.Type {
		case abi.ElfNoteHypercallPage:
			return ByPage
		case abi.ElfNoteGuestOS:
			os, _, _ := strings.Cut(string(n.Desc), "\x00")
			linux = os == "linux"
		}
	}
	if linux {
		return ByBareInstruction
	}
	return ByChoice
}

// Trap makes the hypercalls of a kernel that has been written into g leave the
// guest: where it makes them by stubs, insn takes the place of their
// instruction. It returns the way and how many stubs were rewritten. A kernel
// whose calls can't be seen is ErrUntrappable: it would die of an invalid opcode
// before it could say so.
func (m *Image) Trap(g StubMemory, insn [StubSize]byte) (CallWay, int, error) {
	stubs, err := m.FindStubs()
	if err != nil {
		return "", 0, fmt.Errorf("boot: kernel %q: %w", m.Kernel, err)
	}
	way := callWay(m.Notes, stubs)
	switch way {
	case ByStubs:
		n, err := m.rewriteStubs(g, stubs, insn)
		return way, n, err
	case ByBareInstruction:
		return way, 0, fmt.Errorf("boot: kernel %q is a Linux that neither asks for a hypercall page nor has the two functions vmmcall;ret and vmcall;ret side by side (`vmm inspect` shows what there is): %w", m.Kernel, ErrUntrappable)
	}
	return way, 0, nil
}
