// SPDX-License-Identifier: Apache-2.0
// Interrupt and exception entry, ring 3 and back, catching an exception.
#include "layout.h"

	.text
	/* 256 entries of 16 bytes: put an error code on the stack where the
	 * CPU does not (all but 8, 10-14, 17, 21, 29 and 30), then the vector. */
	.global trap_stubs
	.balign 16
trap_stubs:
	.set	vec, 0
	.rept	32
	.balign 16
	.ifeq	(0x60227d00 >> vec) & 1
	push	$0
	.endif
	push	$vec
	jmp	trap_common
	.set	vec, vec + 1
	.endr
	.rept	224
	.balign 16
	push	$0
	push	$vec
	jmp	trap_common
	.set	vec, vec + 1
	.endr

	.balign 16
trap_common:
	cld
	push	%rax
	push	%rcx
	push	%rdx
	push	%rbx
	push	%rbp
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, %rdi
	mov	%rsp, %rbp
	and	$-16, %rsp
	call	trap
	mov	%rbp, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdi
	pop	%rsi
	pop	%rbp
	pop	%rbx
	pop	%rdx
	pop	%rcx
	pop	%rax
	add	$16, %rsp
	iretq

	/* u64 user_call(u64 (*fn)(void *), void *arg): runs fn in ring 3 with
	 * interrupts on, on this CPU's user stack; not from inside itself. */
	.global user_call
user_call:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	pushfq
	pushq	%gs:PERCPU_RSP0
	mov	%rsp, %gs:PERCPU_KERNEL_SP
	mov	%rsp, %rax
	and	$-16, %rax
	cli
	mov	%rax, %gs:PERCPU_RSP0
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%gs:PERCPU_USER_SP, %rcx
	pushq	$SEL_USER_DATA
	push	%rcx
	pushq	$0x202
	pushq	$SEL_USER_CODE
	lea	1f(%rip), %rdx
	push	%rdx
	iretq
	/* Ring 3 from here: rax = fn, rdi = arg. */
1:	call	*%rax
	/* How ring 3 hands its result back: trap() knows this place. An exception,
	 * since KVM on a host without hardware virtualisation has neither INT n
	 * from ring 3 nor a SYSCALL that leads to ring 0. */
	.global user_done
user_done:
	ud2

	/* trap() comes here from user_done, ring 0, interrupts off. */
	.global user_return
user_return:
	mov	%gs:PERCPU_KERNEL_SP, %rsp
	popq	%gs:PERCPU_RSP0
	popfq
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret

	/* int catch_trap(void (*fn)(void *), void *arg): calls fn; -1 if it
	 * returns, else the vector of the exception that ended it. */
	.global catch_trap, catch_landing
catch_trap:
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	pushfq
	pushq	%gs:PERCPU_CATCH_SP
	mov	%rsp, %gs:PERCPU_CATCH_SP
	mov	%rdi, %rax
	mov	%rsi, %rdi
	sub	$8, %rsp
	call	*%rax
	mov	$-1, %eax
	/* trap() comes here with rsp = catch_sp and rax = vector. */
catch_landing:
	mov	%gs:PERCPU_CATCH_SP, %rsp
	popq	%gs:PERCPU_CATCH_SP
	popfq
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret

	/* void sti_hlt(void): nothing may come between its two instructions, so
	 * trap() has to know where the second one is. */
	.global sti_hlt, sti_hlt_halt
sti_hlt:
	sti
sti_hlt_halt:
	hlt
	ret

	/* u64 call_page(void *entry, u64 rax, const u64 args[6]): a hypercall
	 * through any address with a chosen RAX; arguments in
	 * RDI RSI RDX R10 R8 R9. Used from ring 0 and from ring 3. */
	.global call_page
call_page:
	push	%rbx
	mov	%rdi, %rbx
	mov	%rsi, %rax
	mov	%rdx, %r11
	mov	0(%r11), %rdi
	mov	8(%r11), %rsi
	mov	16(%r11), %rdx
	mov	24(%r11), %r10
	mov	32(%r11), %r8
	mov	40(%r11), %r9
	call	*%rbx
	pop	%rbx
	ret

	/* u64 call_page32(u32 entry, u32 eax, const u32 args[5]): the same from
	 * a 32-bit code segment in ring 0, arguments in EBX ECX EDX ESI EDI.
	 * All of RAX is returned, to see what the callee did to its upper half.
	 * Interrupts must be off: no gate may be taken on a compat frame. */
	.global call_page32
call_page32:
	push	%rbx
	push	%rbp
	push	%r12
	mov	%rdi, %rbp
	mov	%rsi, %rax
	mov	%rdx, %r11
	mov	0(%r11), %ebx
	mov	4(%r11), %ecx
	mov	8(%r11), %edx
	mov	12(%r11), %esi
	mov	16(%r11), %edi
	pushq	$SEL_CODE32
	lea	1f(%rip), %r11
	push	%r11
	lretq
	.code32
1:	/* Compat mode loads its stack and data segments for real. */
	push	%eax
	mov	$SEL_DATA, %eax
	mov	%eax, %ds
	mov	%eax, %es
	pop	%eax
	call	*%ebp
	ljmp	$SEL_CODE64, $2f
	.code64
2:	mov	%rax, %r11
	xor	%eax, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%r11, %rax
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret

	.section .note.GNU-stack, "", @progbits
