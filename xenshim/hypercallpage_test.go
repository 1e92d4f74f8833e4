// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"bytes"
	"testing"

	"xenvmm/xenshim/abi"
)

// TestHypercallPageTrapsByTheInstructionItIsGiven looks at every stub.
func TestHypercallPageTrapsByTheInstructionItIsGiven(t *testing.T) {
	out, vmcall := []byte{0xe7, HypercallPort}, []byte{0x0f, 0x01, 0xc1}
	for name, c := range map[string]struct {
		trap func(nr int) []byte
		want func(nr int) []byte
	}{
		"none":    {nil, func(int) []byte { return out }},
		"vmcall":  {func(int) []byte { return vmcall }, func(int) []byte { return vmcall }},
		"but one": {func(nr int) []byte { return vmcall[:3*min(1, max(nr-29, 29-nr))] }, func(nr int) []byte { return map[bool][]byte{true: out, false: vmcall}[nr == 29] }},
	} {
		page := hypercallPage(c.trap)
		for nr := range abi.HypercallPageStubs {
			stub := page[nr*abi.HypercallPageStubSize:][:abi.HypercallPageStubSize]
			want := append([]byte{0xb8, byte(nr), 0, 0, 0}, append(c.want(nr), 0xc3)...)
			if nr == abi.HypercallIret {
				want = []byte{0x0f, 0x0b}
			}
			want = append(want, bytes.Repeat([]byte{0xcc}, len(stub)-len(want))...)
			if !bytes.Equal(stub, want) {
				t.Errorf("%s: stub %d is % x, want % x", name, nr, stub, want)
			}
		}
	}
}
