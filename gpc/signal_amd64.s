// SPDX-License-Identifier: Apache-2.0

#include "go_asm.h"
#include "textflag.h"
#include "section_amd64.h"

// BEGIN enters with the signal in SI.
#define BEGIN(inside) \
	MOVQ slot+0(FP), DI; \
	MOVQ s+8(FP), SI; \
	ENTER(inside)

// SHARED puts the mapping of the signal's shared cache into R8.
#define SHARED \
	MOVQ Signal_Shared(SI), R8; \
	MAPPING(R8)

// BIT puts the address of the word of a Bit of the signal at FIELD into R, and
// its mask into M. A bit number counts modulo 32. M may be CX itself.
#define BIT(FIELD, R, M, fail) \
	MOVL    (FIELD+Bit_Off)(SI), R; \
	LOCATE(R8, R, 4, 3, CX, fail); \
	MOVBLZX (FIELD+Bit_Bit)(SI), M; \
	ANDL    $31, M

// SELECT is the rest of a range that sets the selector bit. A bit that is set
// already is left alone: whoever has set it sees to the upcall, and the guest has
// not looked at it yet.
#define SELECT(N, stalevcpu, out) \
	MOVQ Signal_VCPU(SI), R8; \
	MAPPING(R8); \
	BIT(Signal_Sel, R9, R11, stalevcpu); \
	MOVL $const_Pending, BX; \
	LOCK; \
	BTSL R11, (R9); \
	COMMITTED(N); \
	JCS  out

// UPCALL is a range that sets the upcall byte, and leaves Pending or Raised in
// BX. The guest clears the byte before it takes the selector word, so the byte
// comes last here; one that is set already belongs to an upcall that will find the
// selector bit. The bits before are not looked at like this: that would fetch
// their lines from the guest's processor twice, to read and to write.
#define UPCALL(N, again, stalevcpu, out) \
	START(N, again); \
	MOVQ  Signal_VCPU(SI), R8; \
	MAPPING(R8); \
	MOVL  Signal_Upcall(SI), R10; \
	LOCATE(R8, R10, 1, 0, CX, stalevcpu); \
	MOVL  $const_Pending, BX; \
	CMPB  (R10), $0; \
	JNE   out; \
	MOVL  $1, AX; \
	XCHGB AX, (R10); \
	COMMITTED(N); \
	TESTB AX, AX; \
	JNE   out; \
	MOVL  $const_Raised, BX

// func deliver(slot *srcu.Slot, s *Signal) Result
TEXT ·deliver(SB), NOSPLIT, $0-24
	BEGIN(inside)
	START(const_deliverPending, pending)
	SHARED
	BIT(Signal_Pending, R9, R11, stale)
	MOVL $const_Coalesced, BX
	LOCK
	BTSL R11, (R9)
	COMMITTED(const_deliverPending)
	JCS  out
	START(const_deliverSelect, select)
	SHARED
	BIT(Signal_Mask, R9, R11, staleport)
	MOVL $const_Masked, BX
	MOVL (R9), AX
	BTL  R11, AX
	JCS  out
	SELECT(const_deliverSelect, stalevcpu, out)
	UPCALL(const_deliverUpcall, upcall, stalevcpu, out)
out:
	MOVQ BX, ret+16(FP)
	EXIT(done, plain, wake)
stale:
	MOVL $const_Stale, BX
	JMP  out
staleport:
	MOVL $const_StalePort, BX
	JMP  out
stalevcpu:
	MOVL $const_StaleVCPU, BX
	JMP  out
	ABORT(const_deliverPending, pending)
	ABORT(const_deliverSelect, select)
	ABORT(const_deliverUpcall, upcall)

// func unmask(slot *srcu.Slot, s *Signal) Result
TEXT ·unmask(SB), NOSPLIT, $0-24
	BEGIN(inside)
	START(const_unmaskMask, mask)
	SHARED
	BIT(Signal_Mask, R9, R11, stale)
	MOVL $const_NotPending, BX
	LOCK
	BTRL R11, (R9)
	COMMITTED(const_unmaskMask)
	JCC  out
	START(const_unmaskSelect, select)
	SHARED
	BIT(Signal_Pending, R9, R11, staleport)
	MOVL $const_NotPending, BX
	MOVL (R9), AX
	BTL  R11, AX
	JCC  out
	SELECT(const_unmaskSelect, stalevcpu, out)
	UPCALL(const_unmaskUpcall, upcall, stalevcpu, out)
out:
	MOVQ BX, ret+16(FP)
	EXIT(done, plain, wake)
stale:
	MOVL $const_Stale, BX
	JMP  out
staleport:
	MOVL $const_StalePort, BX
	JMP  out
stalevcpu:
	MOVL $const_StaleVCPU, BX
	JMP  out
	ABORT(const_unmaskMask, mask)
	ABORT(const_unmaskSelect, select)
	ABORT(const_unmaskUpcall, upcall)

// func resume(slot *srcu.Slot, s *Signal) Result
TEXT ·resume(SB), NOSPLIT, $0-24
	BEGIN(inside)
	START(const_resumeSelect, select)
	SHARED
	BIT(Signal_Pending, R9, R11, staleport)
	MOVL $const_NotPending, BX
	MOVL (R9), AX
	BTL  R11, AX
	JCC  out
	BIT(Signal_Mask, R9, R11, staleport)
	MOVL $const_Masked, BX
	MOVL (R9), AX
	BTL  R11, AX
	JCS  out
	SELECT(const_resumeSelect, stalevcpu, out)
	UPCALL(const_resumeUpcall, upcall, stalevcpu, out)
out:
	MOVQ BX, ret+16(FP)
	EXIT(done, plain, wake)
staleport:
	MOVL $const_StalePort, BX
	JMP  out
stalevcpu:
	MOVL $const_StaleVCPU, BX
	JMP  out
	ABORT(const_resumeSelect, select)
	ABORT(const_resumeUpcall, upcall)

// func raise(slot *srcu.Slot, s *Signal) Result
TEXT ·raise(SB), NOSPLIT, $0-24
	BEGIN(inside)
	START(const_raiseSelect, select)
	SELECT(const_raiseSelect, stalevcpu, force)
force:
	UPCALL(const_raiseUpcall, upcall, stalevcpu, out)
out:
	MOVQ BX, ret+16(FP)
	EXIT(done, plain, wake)
stalevcpu:
	MOVL $const_StaleVCPU, BX
	JMP  out
	ABORT(const_raiseSelect, select)
	ABORT(const_raiseUpcall, upcall)
