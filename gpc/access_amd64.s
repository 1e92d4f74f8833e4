// SPDX-License-Identifier: Apache-2.0

#include "go_asm.h"
#include "textflag.h"
#include "section_amd64.h"

// ADDRESS begins range N and puts the address of SIZE bytes at the offset
// argument into R9.
#define ADDRESS(N, again, SIZE, ALIGN, fail) \
	START(N, again); \
	MOVQ c+8(FP), R8; \
	MOVL off+16(FP), R9; \
	MAPPING(R8); \
	LOCATE(R8, R9, SIZE, ALIGN, R10, fail)

// UPDATE applies OP with the argument in R11 to the word until the exchange
// holds, at most maxCAS times, and leaves the old value in AX. Each try is the
// range over again.
#define UPDATE(N, OP, again, got, fail) \
	MOVL $const_maxCAS, BX; \
	ADDRESS(N, again, 4, 3, fail); \
	MOVL (R9), AX; \
	MOVL AX, R10; \
	OP   R11, R10; \
	LOCK; \
	CMPXCHGL R10, (R9); \
	COMMITTED(N); \
	JEQ  got; \
	PAUSE; \
	DECL BX; \
	JNE  again; \
	JMP  fail

// COPYRANGE begins range N and puts the guest address of the slice's length in
// bytes into R9 and the length into CX. Lengths beyond a page fail before the sum
// could wrap.
#define COPYRANGE(N, again, fail) \
	START(N, again); \
	MOVQ c+8(FP), R8; \
	MOVL off+16(FP), R9; \
	MOVQ p_len+32(FP), CX; \
	MAPPING(R8); \
	CMPQ CX, mapping_n(R8); \
	JHI  fail; \
	LEAQ (R9)(CX*1), R10; \
	CMPQ R10, mapping_n(R8); \
	JHI  fail; \
	CMPQ mapping_n(R8), $0; \
	JEQ  fail; \
	ADDQ mapping_hva(R8), R9

// func load32(slot *srcu.Slot, c *Cache, off uint32) (v uint32, ok bool)
TEXT ·load32(SB), NOSPLIT, $0-29
	MOVQ slot+0(FP), DI
	MOVL $0, v+24(FP)
	MOVB $0, ok+28(FP)
	ENTER(inside)
	ADDRESS(const_load32Range, again, 4, 3, out)
	MOVL (R9), AX
	COMMITTED(const_load32Range)
	MOVL AX, v+24(FP)
	MOVB $1, ok+28(FP)
out:
	EXIT(done, plain, wake)
	ABORT(const_load32Range, again)

// func xchg32(slot *srcu.Slot, c *Cache, off, v uint32) (old uint32, ok bool)
TEXT ·xchg32(SB), NOSPLIT, $0-29
	MOVQ  slot+0(FP), DI
	MOVL  $0, old+24(FP)
	MOVB  $0, ok+28(FP)
	ENTER(inside)
	ADDRESS(const_xchg32Range, again, 4, 3, out)
	MOVL  v+20(FP), AX
	XCHGL AX, (R9)
	COMMITTED(const_xchg32Range)
	MOVL  AX, old+24(FP)
	MOVB  $1, ok+28(FP)
out:
	EXIT(done, plain, wake)
	ABORT(const_xchg32Range, again)

// func xchg8(slot *srcu.Slot, c *Cache, off uint32, v uint8) (old uint8, ok bool)
TEXT ·xchg8(SB), NOSPLIT, $0-26
	MOVQ  slot+0(FP), DI
	MOVB  $0, old+24(FP)
	MOVB  $0, ok+25(FP)
	ENTER(inside)
	ADDRESS(const_xchg8Range, again, 1, 0, out)
	MOVBLZX v+20(FP), AX
	XCHGB AX, (R9)
	COMMITTED(const_xchg8Range)
	MOVB  AX, old+24(FP)
	MOVB  $1, ok+25(FP)
out:
	EXIT(done, plain, wake)
	ABORT(const_xchg8Range, again)

// func or32(slot *srcu.Slot, c *Cache, off, bits uint32) (old uint32, ok bool)
TEXT ·or32(SB), NOSPLIT, $0-29
	MOVQ slot+0(FP), DI
	MOVL $0, old+24(FP)
	MOVB $0, ok+28(FP)
	MOVL bits+20(FP), R11
	ENTER(inside)
	UPDATE(const_or32Range, ORL, again, got, out)
got:
	MOVL AX, old+24(FP)
	MOVB $1, ok+28(FP)
out:
	EXIT(done, plain, wake)
	ABORT(const_or32Range, again)

// func and32(slot *srcu.Slot, c *Cache, off, bits uint32) (old uint32, ok bool)
TEXT ·and32(SB), NOSPLIT, $0-29
	MOVQ slot+0(FP), DI
	MOVL $0, old+24(FP)
	MOVB $0, ok+28(FP)
	MOVL bits+20(FP), R11
	ENTER(inside)
	UPDATE(const_and32Range, ANDL, again, got, out)
got:
	MOVL AX, old+24(FP)
	MOVB $1, ok+28(FP)
out:
	EXIT(done, plain, wake)
	ABORT(const_and32Range, again)

// func cas32(slot *srcu.Slot, c *Cache, off, expect, v uint32) (found uint32, ok bool)
TEXT ·cas32(SB), NOSPLIT, $0-37
	MOVQ slot+0(FP), DI
	MOVL $0, found+32(FP)
	MOVB $0, ok+36(FP)
	MOVL v+24(FP), R11
	ENTER(inside)
	ADDRESS(const_cas32Range, again, 4, 3, out)
	MOVL expect+20(FP), AX
	LOCK
	CMPXCHGL R11, (R9)
	COMMITTED(const_cas32Range)
	MOVL AX, found+32(FP)
	MOVB $1, ok+36(FP)
out:
	EXIT(done, plain, wake)
	ABORT(const_cas32Range, again)

// The copies are ranges whose commit is the repeated move: if one is interrupted
// in the middle, it is done again from its beginning. Bytes that are copied twice
// are the same as bytes that the guest changes meanwhile; a copy is not atomic. If
// the mapping has gone when it starts again, then it fails with a part done:
// copyOut has put that into a buffer whose contents do not count, and copyIn into
// a page that whoever withdrew the mapping marks dirty.

// func copyOut(slot *srcu.Slot, c *Cache, off uint32, p []byte) (ok bool)
TEXT ·copyOut(SB), NOSPLIT, $0-49
	MOVQ slot+0(FP), DI
	MOVB $0, ok+48(FP)
	ENTER(inside)
	MOVQ DI, R11
	COPYRANGE(const_copyOutRange, again, out)
	MOVQ R9, SI
	MOVQ p_base+24(FP), DI
	REP; MOVSB
	COMMITTED(const_copyOutRange)
	MOVB $1, ok+48(FP)
out:
	MOVQ R11, DI
	EXIT(done, plain, wake)
	ABORTED(const_copyOutRange)
	MOVQ R11, DI
	RESTART(again)

// func copyIn(slot *srcu.Slot, c *Cache, off uint32, p []byte) (ok bool)
TEXT ·copyIn(SB), NOSPLIT, $0-49
	MOVQ slot+0(FP), DI
	MOVB $0, ok+48(FP)
	ENTER(inside)
	MOVQ DI, R11
	COPYRANGE(const_copyInRange, again, out)
	MOVQ p_base+24(FP), SI
	MOVQ R9, DI
	REP; MOVSB
	COMMITTED(const_copyInRange)
	MOVB $1, ok+48(FP)
out:
	MOVQ R11, DI
	EXIT(done, plain, wake)
	ABORTED(const_copyInRange)
	MOVQ R11, DI
	RESTART(again)
