// SPDX-License-Identifier: Apache-2.0

// What all sections share. DI is the slot, DX its even counter, and R13 the
// address of the thread's rseq_cs word throughout; AX, BX, CX, SI and R8 to R12
// are free.
//
// A section is a sequence of ranges, each of which loads the mapping anew and
// ends with its one use that counts. Between them it holds no guest address.

// ENTER makes the counter odd. The exchange is a full barrier: no load of the
// section happens before the counter is seen to be odd. It leaves the old value,
// which nobody else changes, in DX.
#define ENTER(inside) \
	MOVQ  const_slotSequence(DI), R13; \
	CMPL  const_slotMode(DI), $const_modeUncounted; \
	JEQ   inside; \
	MOVQ  const_slotSeq(DI), DX; \
	INCQ  DX; \
	XCHGQ DX, const_slotSeq(DI); \
inside:

// EXIT makes the counter even and returns. A restartable section just stores:
// its loads and stores come before that on x86, and no updater sleeps until it
// ends. For others the exchange is a full barrier, after which the waiter word is
// read: an updater that set it too late to be seen here sees the new counter when
// it rechecks. Waking is part of the function, so that the scheduler cannot come
// between an exit and its wake-up: 202 is futex(2), 129
// FUTEX_WAKE|FUTEX_PRIVATE_FLAG.
#define EXIT(done, plain, wake) \
	CMPL  const_slotMode(DI), $const_modeRestartable; \
	JHI   done; \
	LEAQ  2(DX), DX; \
	JNE   plain; \
	MOVQ  DX, const_slotSeq(DI); \
done: \
	RET; \
plain: \
	XCHGQ DX, const_slotSeq(DI); \
	CMPL  const_slotWaiter(DI), $0; \
	JNE   wake; \
	RET; \
wake: \
	MOVL  $0, const_slotWaiter(DI); \
	LEAQ  const_slotWaiter(DI), DI; \
	MOVL  $129, SI; \
	MOVL  $0x7fffffff, DX; \
	MOVL  $202, AX; \
	SYSCALL; \
	RET

// MARK is a no-op that package rseq finds: see rseq.MarkStart.
#define MARK(KIND, N) \
	BYTE $0x0f; BYTE $0x1f; BYTE $0x80; \
	LONG $(0x5ec70000+KIND*0x100+N)

// START begins range N: from the mark on the kernel sends the thread to the
// range's ABORT if it has been interrupted. Its arming is not part of the range,
// since an interruption before it leads to no harm: nothing is loaded yet.
#define START(N, again) \
again: \
	LEAQ ·ranges+(N*32)(SB), R12; \
	MOVQ R12, (R13); \
	MARK(1, N)

// COMMITTED follows the instruction that ends range N.
#define COMMITTED(N) MARK(2, N)

// ABORTED is where the kernel sends the thread, if and only if the signature is
// in front of it (as part of a UD1, so that nothing can run into it). Registers
// are as they were anywhere in the range. The kernel has disarmed it.
#define ABORTED(N) \
	BYTE $0x0f; BYTE $0xb9; BYTE $0x3d; LONG $0x53053053; \
	MARK(3, N)

// RESTART counts and begins the range anew.
#define RESTART(again) \
	INCQ const_slotRestarts(DI); \
	JMP  again

// ABORT is both, for a range that leaves alone what it needs at its start.
#define ABORT(N, again) \
	ABORTED(N); \
	RESTART(again)

// LOCATE turns the offset OFF into the address of SIZE bytes in the mapping M,
// or jumps to fail if they are not all in its range or not aligned to ALIGN+1.
// OFF comes from a zero-extended 32-bit value, so the sum cannot wrap. A stale
// mapping has length 0.
#define LOCATE(M, OFF, SIZE, ALIGN, TMP, fail) \
	LEAQ  SIZE(OFF), TMP; \
	CMPQ  TMP, mapping_n(M); \
	JHI   fail; \
	ADDQ  mapping_hva(M), OFF; \
	TESTQ $ALIGN, OFF; \
	JNE   fail

// MAPPING loads the mapping of the cache in R, once per range and cache.
#define MAPPING(R) \
	MOVQ Cache_m(R), R
