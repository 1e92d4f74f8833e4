// SPDX-License-Identifier: Apache-2.0
// Numbers shared by C and assembly: selectors, vectors, sizes and the offsets
// in struct percpu (smp.h checks them).
#pragma once

#define MAX_CPUS 64

#define SEL_CODE64 0x08
#define SEL_DATA 0x10
#define SEL_CODE32 0x18
#define SEL_USER_DATA 0x23
#define SEL_USER_CODE 0x2b
#define SEL_TSS0 0x40 /* 16 bytes per CPU */

#define VEC_CALLBACK 0xd3    /* HVM_PARAM_CALLBACK_IRQ by vector: no EOI */
#define VEC_GSI 0x63         /* IOAPIC pin of the GSI method */
#define VEC_WORK 0xe0        /* LAPIC IPI: a CPU has work */
#define VEC_WAKE 0xe1        /* LAPIC IPI: leave HLT and look again */
#define VEC_RESCAN 0xe2      /* LAPIC IPI: scan the event channels */
#define VEC_TIMER 0xe8       /* LAPIC timer: time limits of waits */
#define VEC_UPCALL 0xf3      /* per-vCPU upcall vector: EOI needed */
#define VEC_SPURIOUS 0xff

#define STACK_SIZE 8192
#define IST_SIZE 4096

#define PERCPU_SELF 0
#define PERCPU_KERNEL_SP 8
#define PERCPU_USER_SP 16
#define PERCPU_CATCH_SP 24
#define PERCPU_RSP0 36 /* tss.rsp0: the TSS starts at 32 and keeps it at +4 */

/* Where the real-mode part of AP start is copied; below 1 MiB, one page. */
#define TRAMPOLINE 0x9000

#define CR0_PE 0x1
#define CR0_ET 0x10
#define CR0_NE 0x20
#define CR0_WP 0x10000
#define CR0_PG 0x80000000
#define CR4_PAE 0x20
#define EFER_MSR 0xc0000080
#define EFER_LME 0x100
#define EFER_LMA 0x400

#define BOOT_CR0 (CR0_PE | CR0_ET | CR0_NE | CR0_WP | CR0_PG)
#define BOOT_CR4 CR4_PAE
