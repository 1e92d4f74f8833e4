// SPDX-License-Identifier: Apache-2.0

package rseq

import (
	"encoding/binary"
	"fmt"
	"runtime"
)

// A Descriptor is struct rseq_cs of linux/rseq.h: one range. The kernel reads it
// at any time after its address was stored in an Area, so it lives for ever and
// does not change once it is in use.
type Descriptor struct {
	_      [2]uint32 // version and flags: 0
	start  uint64
	length uint64 // from start to behind the commit
	abort  uint64
}

// Range returns the addresses of the first instruction of the range, of the one
// behind its commit and of its abort handler.
func (d *Descriptor) Range() (start, end, abort uintptr) {
	return uintptr(d.start), uintptr(d.start + d.length), uintptr(d.abort)
}

// Go's assembler cannot emit the address of a label. So the code carries marks,
// which are 7-byte no-ops, NOPL disp32(AX), whose displacement is markMagic plus
// the kind times 0x100 plus the number of the range:
//
//	MarkStart  the first instruction of the range
//	MarkEnd    the instruction behind the commit
//	MarkAbort  the first instruction of the abort handler, behind the Signature
const (
	MarkStart = 1
	MarkEnd   = 2
	MarkAbort = 3

	markMagic = 0x5ec70000
	markSize  = 7
)

// Scan finds the marks in assembly functions, given by their first program
// counters, and fills in table, whose index is the number of the range. It fails
// unless all of the ranges are there, each once.
func Scan(functions []uintptr, table []Descriptor) error {
	found := make([]marks, len(table))
	for _, entry := range functions {
		if err := scan(entry, codeAt(entry, functionSize(entry)), found); err != nil {
			return err
		}
	}
	return describe(found, table)
}

// marks are where the marks of one range are, by kind.
type marks [4]uintptr

// scan notes in found the marks in code, which is at pc.
func scan(pc uintptr, code []byte, found []marks) error {
	for i := 0; i+markSize <= len(code); i++ {
		kind, number, ok := mark(code[i:])
		if !ok {
			continue
		}
		at := pc + uintptr(i)
		if number >= len(found) || found[number][kind] != 0 {
			return fmt.Errorf("rseq: mark %d of range %d at %#x is one too many", kind, number, at)
		}
		if kind == MarkAbort && (i < 4 || binary.LittleEndian.Uint32(code[i-4:]) != Signature) {
			return fmt.Errorf("rseq: no signature before the abort handler of range %d at %#x", number, at)
		}
		found[number][kind] = at
	}
	return nil
}

func describe(found []marks, table []Descriptor) error {
	for n, m := range found {
		start, end, abort := m[MarkStart], m[MarkEnd], m[MarkAbort]
		if start == 0 || end <= start || abort == 0 || start <= abort && abort < end {
			return fmt.Errorf("rseq: range %d is incomplete: start %#x, end %#x, abort handler %#x", n, start, end, abort)
		}
		table[n] = Descriptor{start: uint64(start), length: uint64(end - start), abort: uint64(abort)}
	}
	return nil
}

func mark(code []byte) (kind, number int, ok bool) {
	if code[0] != 0x0f || code[1] != 0x1f || code[2] != 0x80 {
		return 0, 0, false
	}
	d := binary.LittleEndian.Uint32(code[3:])
	kind, number = int(d>>8&0xff), int(d&0xff)
	return kind, number, d&0xffff0000 == markMagic && kind >= MarkStart && kind <= MarkAbort
}

// functionSize is how many bytes from entry on belong to its function.
func functionSize(entry uintptr) int {
	n := 0
	for f := runtime.FuncForPC(entry + uintptr(n)); f != nil && f.Entry() == entry; f = runtime.FuncForPC(entry + uintptr(n)) {
		n++
	}
	return n
}
