// SPDX-License-Identifier: Apache-2.0

package rseq

import (
	"encoding/binary"
	"slices"
	"testing"
)

var (
	signature = binary.LittleEndian.AppendUint32([]byte{0x0f, 0xb9, 0x3d}, Signature)
	filler    = []byte{0x48, 0x87, 0x17}
)

func marked(kind, number int) []byte {
	return binary.LittleEndian.AppendUint32([]byte{0x0f, 0x1f, 0x80}, uint32(markMagic+kind<<8+number))
}

func TestScanDescribesExactlyTheRangesThereAre(t *testing.T) {
	const pc = 0x1000
	whole := func(n int) []byte {
		return slices.Concat(filler, marked(MarkStart, n), filler, marked(MarkEnd, n), filler, signature, marked(MarkAbort, n))
	}
	for _, tt := range []struct {
		name   string
		code   []byte
		ranges int
		ok     bool
	}{
		{"one", whole(0), 1, true},
		{"two", slices.Concat(whole(1), whole(0)), 2, true},
		{"other no-ops between", slices.Concat([]byte{0x0f, 0x1f, 0x80, 0, 0, 0, 0}, whole(0)), 1, true},
		{"one is missing", whole(0), 2, false},
		{"one twice", slices.Concat(whole(0), whole(0)), 1, false},
		{"one too many", slices.Concat(whole(0), whole(1)), 1, false},
		{"no signature", slices.Concat(marked(MarkStart, 0), filler, marked(MarkEnd, 0), marked(MarkAbort, 0)), 1, false},
		{"a wrong signature", slices.Concat(marked(MarkStart, 0), filler, marked(MarkEnd, 0), []byte{1, 2, 3, 4}, marked(MarkAbort, 0)), 1, false},
		{"the end before the start", slices.Concat(marked(MarkEnd, 0), filler, marked(MarkStart, 0), signature, marked(MarkAbort, 0)), 1, false},
		{"the handler inside", slices.Concat(marked(MarkStart, 0), signature, marked(MarkAbort, 0), filler, marked(MarkEnd, 0)), 1, false},
		{"no code", nil, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, table := make([]marks, tt.ranges), make([]Descriptor, tt.ranges)
			err := scan(pc, tt.code, found)
			if err == nil {
				err = describe(found, table)
			}
			if (err == nil) != tt.ok {
				t.Fatalf("error %v", err)
			}
			if tt.name == "one" {
				if start, end, abort := table[0].Range(); start != pc+3 || end != pc+13 || abort != pc+30 {
					t.Errorf("range [%#x, %#x), abort %#x", start, end, abort)
				}
			}
		})
	}
}
