// SPDX-License-Identifier: Apache-2.0
// From the 32-bit PVH entry to 64-bit C, and the two ways an AP arrives.
#include "layout.h"

	/* XEN_ELFNOTE_PHYS32_ENTRY (18): where a PVH loader enters. */
	.section .note.Xen, "a", @note
	.balign 4
	.long 4, 4, 18
	.asciz "Xen"
	.long pvh_entry

	/* The test's name, for tools: owner "xenvmm", type 1. */
	.section .note.xenvmm, "a", @note
	.balign 4
	.long 7, 2f - 1f, 1
	.asciz "xenvmm"
	.balign 4
1:	.asciz TEST_NAME
2:	.balign 4

	.section .text.start, "ax"
	.code32
	.global pvh_entry
pvh_entry:
	/* Keep what the loader gave before anything is changed: the `boot`
	 * test looks at it. */
	cli
	cld
	mov	$boot_stack_top, %esp
	pushfl
	popl	entry_state + 0
	mov	%ebx, entry_state + 4
	mov	%cr0, %eax
	mov	%eax, entry_state + 8
	mov	%cr4, %eax
	mov	%eax, entry_state + 12
	mov	%cs, entry_state + 16
	mov	%ds, entry_state + 18
	mov	%es, entry_state + 20
	mov	%ss, entry_state + 22
	mov	$EFER_MSR, %ecx
	rdmsr
	mov	%eax, entry_state + 24

	/* 8 GiB by 2 MiB pages: 8 page directories, filled in one run.
	 * Present, writable, user, accessed, dirty, large. */
	mov	$page_dirs, %edi
	mov	$0xe7, %eax
	xor	%edx, %edx
	mov	$8 * 512, %ecx
1:	mov	%eax, (%edi)
	mov	%edx, 4(%edi)
	add	$0x200000, %eax
	adc	$0, %edx
	add	$8, %edi
	dec	%ecx
	jnz	1b

	mov	$page_pdpt, %edi
	mov	$page_dirs + 0x27, %eax
	mov	$8, %ecx
1:	mov	%eax, (%edi)
	add	$0x1000, %eax
	add	$8, %edi
	dec	%ecx
	jnz	1b
	movl	$page_pdpt + 0x27, page_root

	movl	$boot_cpu64, enter64_target
	jmp	enter64

	/* 32-bit protected mode, flat segments -> 64-bit code at
	 * enter64_target, on %esp's stack. */
enter64:
	mov	$BOOT_CR4, %eax
	mov	%eax, %cr4
	mov	$page_root, %eax
	mov	%eax, %cr3
	mov	$EFER_MSR, %ecx
	rdmsr
	or	$EFER_LME, %eax
	wrmsr
	mov	$BOOT_CR0, %eax
	mov	%eax, %cr0
	lgdt	gdt_pointer
	ljmp	$SEL_CODE64, $1f
	.code64
1:	mov	$SEL_DATA, %eax
	mov	%eax, %ss
	xor	%eax, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %fs
	mov	%eax, %gs
	mov	enter64_target, %eax
	jmp	*%rax

boot_cpu64:
	mov	$boot_stack_top, %rsp
	xor	%ebp, %ebp
	call	boot_main
1:	hlt
	jmp	1b

	/* An AP started by VCPUOP_initialise: 64-bit mode, rdi = its percpu,
	 * rsp = its stack, segments as the hypervisor cached them. */
	.text
	.global ap_entry64
ap_entry64:
	lgdt	gdt_pointer
	push	$SEL_CODE64
	lea	1f(%rip), %rax
	push	%rax
	lretq
1:	mov	$SEL_DATA, %eax
	mov	%eax, %ss
	xor	%eax, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %fs
	mov	%eax, %gs
	xor	%ebp, %ebp
	call	ap_main
1:	hlt
	jmp	1b

	/* An AP that came through the trampoline: its percpu and stack are in
	 * ap_boot_cpu and ap_boot_sp (APs start one at a time). */
ap_cpu64:
	mov	ap_boot_sp, %rsp
	mov	ap_boot_cpu, %rdi
	jmp	ap_entry64

	.code32
ap_protected:
	mov	$SEL_DATA, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	mov	$boot_stack_top, %esp /* unused until 64-bit */
	movl	$ap_cpu64, enter64_target
	jmp	enter64

	/* Copied to TRAMPOLINE: real mode, CS = TRAMPOLINE >> 4, IP = 0. */
	.section .rodata
	.code16
	.global trampoline_start, trampoline_end
trampoline_start:
	cli
	cld
	mov	%cs, %ax
	mov	%ax, %ds
	lgdtl	(3f - trampoline_start)
	mov	%cr0, %eax
	or	$CR0_PE, %eax
	mov	%eax, %cr0
	ljmpl	$SEL_CODE32, $ap_protected
	.balign 8
3:	.word	SEL_DATA + SEL_CODE32 /* covers the first descriptors */
	.long	gdt
trampoline_end:
	.code64

	.section .data
	.global entry_state, ap_boot_cpu, ap_boot_sp
	.balign 8
entry_state:	.skip 32
ap_boot_cpu:	.quad 0
ap_boot_sp:	.quad 0
enter64_target:	.quad 0

	.global gdt, gdt_pointer
	.balign 16
gdt:
	.quad 0
	.quad 0x00af9b000000ffff	/* 64-bit code, ring 0 */
	.quad 0x00cf93000000ffff	/* data, ring 0 */
	.quad 0x00cf9b000000ffff	/* 32-bit code, ring 0 */
	.quad 0x00cff3000000ffff	/* data, ring 3 */
	.quad 0x00affb000000ffff	/* 64-bit code, ring 3 */
	.quad 0
	.quad 0
gdt_tss:
	.skip 16 * MAX_CPUS
gdt_end:
	.balign 8
	.word 0, 0, 0
gdt_pointer:
	.word	gdt_end - gdt - 1
	.quad	gdt

	.section .bss.page, "aw", @nobits
	.balign 4096
	.global page_root
page_root:	.skip 4096
page_pdpt:	.skip 4096
page_dirs:	.skip 8 * 4096
	.skip STACK_SIZE
	.global boot_stack_top
boot_stack_top:

	.section .note.GNU-stack, "", @progbits
