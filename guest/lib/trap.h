// SPDX-License-Identifier: Apache-2.0
// The interrupt table, exceptions, and waiting for interrupts.
#pragma once
#include "types.h"

struct frame {
	u64 r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax;
	u64 vector, error, rip, cs, rflags, rsp, ss;
};

void trap_init(void);     /* fills the IDT */
void trap_init_cpu(void); /* loads it */
void trap_handler(u8 vector, void (*fn)(struct frame *)); /* interrupts and NMI */

/* NO_TRAP, or the vector of the exception that fn raised; percpu catch_* say more. */
#define NO_TRAP (-1)
int catch_trap(void (*fn)(void *), void *arg);

/* Enables interrupts and halts until one comes. The caller has looked for work with
 * interrupts off, and looks again: the wake-up may have been for something else. */
void sti_hlt(void);
extern u8 sti_hlt_halt[]; /* its HLT */
void trap(struct frame *f); /* what every exception and interrupt calls */

/* Halts until cond holds, looking again after each interrupt; false after ms
 * milliseconds (by the LAPIC timer). Ring 0; leaves interrupts as they were. */
#define LONG_MS 15000 /* for what must come: slow hosts are no failure */
bool wait_for(bool (*cond)(void *), void *arg, u32 ms);
void sleep_ms(u32 ms);
