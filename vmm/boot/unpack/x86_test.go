// SPDX-License-Identifier: Apache-2.0

package unpack

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"xenvmm/vmm/boot/unpack/unpacktest"
)

// branchModel is the x86 filter again, in both directions, built the other way
// round than decodeX86Branches: it ages one bit set from opcode to opcode. Bit
// k (0..2) of history: an opcode byte stood k+1 positions ago and wasn't
// taken; bit 4, in the same positions: the byte that would have been its high
// one was plausible.
type branchModel struct {
	history uint32
	last    int // position of the last opcode byte
}

// plausibleHigh: near branches have a high byte of all zeros or all ones.
func plausibleHigh(b byte) bool { return b == 0x00 || b == 0xff }

// filterX86 applies the filter in place, or undoes it. The decisions depend
// only on bytes that the filter doesn't change, so that the two differ only in
// the sign of the position.
func filterX86(p []byte, undo bool) {
	s := branchModel{last: -5}
	for i := 0; i+5 <= len(p); {
		if p[i]&0xfe != 0xe8 {
			i++
			continue
		}
		if s.step(i, p[i+4]) {
			next := uint32(i) + 5
			if undo {
				next = -next
			}
			v := s.target(binary.LittleEndian.Uint32(p[i+1:]), next)
			if v &= 0x01ffffff; v&0x01000000 != 0 { // sign-extend from bit 24
				v |= 0xff000000
			}
			binary.LittleEndian.PutUint32(p[i+1:], v)
			s.history = 0
			i += 5
			continue
		}
		s.history |= 1
		if plausibleHigh(p[i+4]) {
			s.history |= 0x10
		}
		i++
	}
}

// step ages the history to position i and tells whether the opcode byte there,
// with high operand byte high, is taken for an instruction.
func (s *branchModel) step(i int, high byte) bool {
	age := i - s.last
	s.last = i
	if age > 5 {
		s.history = 0
	}
	for ; age > 0 && s.history != 0; age-- {
		s.history = s.history & 0x77 << 1
	}
	if !plausibleHigh(high) {
		return false
	}
	h := s.history >> 1
	if h >= 0x10 {
		return false
	}
	switch h & 7 {
	case 0, 1, 2, 4: // at most one suspicious byte
		return true
	}
	return false
}

// target adds next to the operand. While the byte an earlier opcode would have
// used as its high byte looks plausible, it inverts the bits below it and
// tries again.
func (s *branchModel) target(v, next uint32) uint32 {
	for {
		sum := v + next
		if s.history == 0 {
			return sum
		}
		shift := 24 - 8*bytesBack(s.history>>1)
		if !plausibleHigh(byte(sum >> shift)) {
			return sum
		}
		v = sum ^ (1<<(shift+8) - 1)
	}
}

// bytesBack is the number of operand bytes behind the newest suspicious byte.
func bytesBack(h uint32) uint32 {
	switch {
	case h == 0:
		return 0
	case h == 1:
		return 1
	case h < 4:
		return 2
	}
	return 3
}

// codeBytes are bytes that matter to the filter, so that opcodes overlap.
func codeBytes() *rapid.Generator[[]byte] {
	return rapid.SliceOfN(rapid.SampledFrom([]byte{0xe8, 0xe9, 0x00, 0xff, 0x01, 0xfe, 0x80}), 0, 64)
}

func TestFilterIsUndoneOnAnyCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain := codeBytes().Draw(t, "code")
		p := bytes.Clone(plain)
		filterX86(p, false)
		decodeX86Branches(p)
		if !bytes.Equal(p, plain) {
			t.Fatalf("%x comes back as %x", plain, p)
		}
	})
}

// TestFilterAgainstItsModel decodes what no encoder has written.
func TestFilterAgainstItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got := codeBytes().Draw(t, "filtered")
		want := bytes.Clone(got)
		decodeX86Branches(got)
		filterX86(want, true)
		if !bytes.Equal(got, want) {
			t.Fatalf("decoded %x, the model says %x", got, want)
		}
	})
	for seed := range uint32(20) {
		got := unpacktest.Code(1<<17, seed) // with positions of more than 16 bits
		want := bytes.Clone(got)
		decodeX86Branches(got)
		filterX86(want, true)
		if !bytes.Equal(got, want) {
			t.Fatalf("seed %d: differs at %d", seed, firstDifference(got, want))
		}
	}
}

func FuzzX86Filter(f *testing.F) {
	f.Add(plainCode)
	f.Add(unpacktest.Code(300, 1))
	f.Fuzz(func(t *testing.T, p []byte) {
		want := bytes.Clone(p)
		filterX86(want, true)
		got := bytes.Clone(p)
		decodeX86Branches(got)
		if !bytes.Equal(got, want) {
			t.Fatalf("decoded %x, the model says %x", got, want)
		}
		filterX86(got, false)
	})
}

func BenchmarkX86Filter(b *testing.B) {
	p := unpacktest.Code(1<<20, 1)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		decodeX86Branches(p)
	}
}
