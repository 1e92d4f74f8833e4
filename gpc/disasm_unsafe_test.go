// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/arch/x86/x86asm"

	"xenvmm/gpc/srcu/rseq"
)

// An instruction of a section, as it is in the running binary.
type instruction struct {
	x86asm.Inst
	pc        uintptr
	signature bool // not an instruction but what precedes an abort handler
}

func (in *instruction) next() uintptr { return in.pc + uintptr(in.Len) }

// target returns where a jump goes.
func (in *instruction) target() (uintptr, bool) {
	rel, ok := in.Args[0].(x86asm.Rel)
	return in.next() + uintptr(int64(rel)), ok
}

// memory returns the operand that is in memory, nil if there is none, and
// whether it is the destination.
func (in *instruction) memory() (m *x86asm.Mem, written bool) {
	if in.Op == x86asm.LEA || in.Op == x86asm.NOP {
		return nil, false
	}
	for i, a := range in.Args {
		if m, ok := a.(x86asm.Mem); ok {
			reads := in.Op == x86asm.CMP || in.Op == x86asm.TEST || in.Op == x86asm.BT
			return &m, in.Op == x86asm.XCHG || i == 0 && !reads
		}
	}
	return nil, false
}

func (in *instruction) locked() bool {
	if in.Op == x86asm.XCHG { // always is, with memory
		m, _ := in.memory()
		return m != nil
	}
	return slices.ContainsFunc(in.Prefix[:], func(p x86asm.Prefix) bool { return p&0xff == 0xf0 })
}

// section decodes the section whose first instruction is at entry.
func section(t *testing.T, entry uintptr) (name string, code []instruction) {
	t.Helper()
	fn := runtime.FuncForPC(entry)
	name = fn.Name()[strings.LastIndexByte(fn.Name(), '.')+1:]
	for pc := entry; runtime.FuncForPC(pc) == fn; {
		raw := unsafe.Slice((*byte)(codeAt(pc)), 16)
		if raw[0] == 0x0f && raw[1] == 0xb9 && raw[2] == 0x3d {
			if s := binary.LittleEndian.Uint32(raw[3:]); s != rseq.Signature {
				t.Fatalf("%s: signature %#x", name, s)
			}
			code = append(code, instruction{pc: pc, signature: true, Inst: x86asm.Inst{Len: 7}})
			pc += 7
			continue
		}
		in, err := x86asm.Decode(raw, 64)
		if err != nil || in.Op == x86asm.INT {
			break // padding after the end
		}
		code = append(code, instruction{Inst: in, pc: pc})
		pc += uintptr(in.Len)
	}
	return strings.TrimSuffix(name, ".abi0"), code
}

// codeAt is the memory at a program counter.
func codeAt(pc uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&pc)) }

func eachSection(t *testing.T, f func(t *testing.T, name string, code []instruction)) {
	if err := described(); err != nil {
		t.Fatal(err)
	}
	for i := range sectionCount {
		name, code := section(t, sectionEntry(i))
		t.Run(name, func(t *testing.T) { f(t, name, code) })
	}
}

// counter reports whether in has the counter of the slot as an operand.
func counter(in *instruction) bool {
	m, _ := in.memory()
	return m != nil && m.Base == x86asm.RDI && m.Disp == slotSeq && m.Index == 0 && in.Op != x86asm.MOVSB
}

func TestSectionsAreEnteredAndLeftWithFullBarriers(t *testing.T) {
	eachSection(t, func(t *testing.T, name string, code []instruction) {
		var exchanges, stores, syscalls, locked int
		for i := range code {
			in := &code[i]
			switch in.Op {
			case x86asm.MFENCE, x86asm.LFENCE, x86asm.SFENCE:
				t.Errorf("%v: a fence costs ten locked operations", in)
			case x86asm.CALL:
				t.Errorf("%v: a call within the section", in)
			case x86asm.SYSCALL:
				if syscalls++; exchanges != 2 {
					t.Errorf("system call after %d exchanges on the counter: within the section", exchanges)
				}
			}
			if exchanges == 1 && in.locked() && !counter(in) {
				locked++
			}
			if _, written := in.memory(); counter(in) && written {
				switch {
				case in.Op == x86asm.XCHG:
					exchanges++
				// Only a restartable section just stores: what precedes is
				// CMP mode, JA done, LEA, JNE plain.
				case in.Op == x86asm.MOV && exchanges == 1 && stores == 0 && leavesRestartable(code[i-4:i+1]):
					stores++
				default:
					t.Errorf("%#x %v: a store to the counter", in.pc, in)
				}
			}
			// Guest memory and mappings are reached through R8 to R10 and RSI;
			// nothing of it is touched before the entry.
			if m, _ := in.memory(); m != nil && exchanges == 0 && m.Base != x86asm.RDI && m.Base != x86asm.RSP {
				t.Errorf("%#x %v: a load before the entry", in.pc, in)
			}
		}
		if exchanges != 2 || stores != 1 || syscalls != 1 {
			t.Errorf("%d exchanges and %d stores on the counter and %d system calls", exchanges, stores, syscalls)
		}
		want := map[string]int{"deliver": 3, "unmask": 3, "resume": 2, "raise": 2, "xchg32": 1, "xchg8": 1, "or32": 1, "and32": 1, "cas32": 1}
		if locked != want[name] {
			t.Errorf("%d locked updates of guest memory, want %d", locked, want[name])
		}
	})
}

func leavesRestartable(code []instruction) bool {
	m, _ := code[0].memory()
	return code[0].Op == x86asm.CMP && m != nil && m.Base == x86asm.RDI && m.Disp == slotMode && code[0].Args[1] == x86asm.Imm(modeRestartable) &&
		code[1].Op == x86asm.JA && code[2].Op == x86asm.LEA && code[3].Op == x86asm.JNE
}

// What the kernel and package srcu rely on, for each range.
func TestRangesAreRestartable(t *testing.T) {
	seen := map[int]bool{}
	eachSection(t, func(t *testing.T, name string, code []instruction) {
		at := func(pc uintptr) int {
			i := slices.IndexFunc(code, func(in instruction) bool { return in.pc == pc })
			if i < 0 {
				t.Fatalf("%#x is not the address of an instruction", pc)
			}
			return i
		}
		within := make([]bool, len(code)) // some range
		for n := range ranges {
			start, end, abort := ranges[n].Range()
			if start < code[0].pc || start > code[len(code)-1].pc {
				continue
			}
			seen[n] = true
			first, behind, handler := at(start), at(end), at(abort)

			// It is armed just before.
			lea, arm := &code[first-2], &code[first-1]
			m, isMem := lea.Args[1].(x86asm.Mem)
			if lea.Op != x86asm.LEA || !isMem || m.Base != x86asm.RIP || lea.next()+uintptr(m.Disp) != uintptr(unsafe.Pointer(&ranges[n])) {
				t.Errorf("range %d: %v does not name it", n, lea)
			}
			if m, written := arm.memory(); arm.Op != x86asm.MOV || !written || m.Base != x86asm.R13 || m.Disp != 0 || arm.Args[1] != lea.Args[0] {
				t.Errorf("range %d: %v does not arm it", n, arm)
			}

			// Its last instruction is its commit, and the only one that stores;
			// the range does not use what was found out before it.
			fresh := map[x86asm.Reg]bool{x86asm.RDI: true, x86asm.RSI: true, x86asm.RSP: true}
			for i := first; i < behind; i++ {
				in, last := &code[i], i == behind-1
				within[i] = true
				switch m, written := in.memory(); {
				case in.Op == x86asm.CALL || in.Op == x86asm.SYSCALL || in.Op == x86asm.RET:
					t.Errorf("range %d: %v", n, in)
				case last && in.Op == x86asm.MOVSB:
				case last && m == nil:
					t.Errorf("range %d: the commit is %v", n, in)
				case last && !in.locked() && name != "load32":
					t.Errorf("range %d: the commit %v is not locked", n, in)
				case !last && written:
					t.Errorf("range %d: %v stores before the commit", n, in)
				case m != nil && !fresh[m.Base]:
					t.Errorf("range %d: %v uses what was loaded before the range", n, in)
				}
				if to, ok := in.target(); ok && start <= to && to < end {
					t.Errorf("range %d: %v jumps within it", n, in)
				}
				if r, ok := in.Args[0].(x86asm.Reg); ok {
					fresh[full(r)] = true
				}
			}

			// It is begun anew from where it is armed.
			if handler == 0 || !code[handler-1].signature {
				t.Errorf("range %d: no signature before its abort handler", n)
			}
			jump := handler
			for code[jump].Op != x86asm.JMP {
				jump++
			}
			if to, _ := code[jump].target(); to != lea.pc || jump > handler+3 {
				t.Errorf("range %d: its abort handler leads to %#x, not %#x", n, to, lea.pc)
			}
		}
		// Outside of ranges nothing is reached but the slot, the arguments and the
		// word that arms, and nobody jumps into one.
		for i := range code {
			in := &code[i]
			if m, _ := in.memory(); m != nil && !within[i] && m.Base != x86asm.RDI && m.Base != x86asm.RSP && m.Base != x86asm.R13 {
				t.Errorf("%#x %v: outside of every range", in.pc, in)
			}
			if to, ok := in.target(); ok && to >= code[0].pc && to <= code[len(code)-1].pc && within[at(to)] {
				t.Errorf("%#x %v: jumps into a range", in.pc, in)
			}
		}
	})
	if len(seen) != rangeCount {
		t.Errorf("%d ranges were looked at, of %d", len(seen), rangeCount)
	}
}

// full returns the 64-bit register of which r, of 32 or 64 bits, is a part.
func full(r x86asm.Reg) x86asm.Reg {
	if r >= x86asm.EAX && r <= x86asm.R15L {
		return r - x86asm.EAX + x86asm.RAX
	}
	return r
}
