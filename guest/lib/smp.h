// SPDX-License-Identifier: Apache-2.0
// Per-CPU state, AP start, and running functions on other CPUs.
#pragma once
#include "types.h"
#include "layout.h"
#include "xen.h"

struct tss { /* 64-bit TSS with an I/O bitmap for ports 0..0xff */
	u32 reserved0;
	u64 rsp[3];
	u64 reserved1;
	u64 ist[7];
	u64 reserved2;
	u16 reserved3, io_base;
	u8 io_bitmap[33];
} PACKED;

struct percpu {
	struct percpu *self;
	u64 kernel_sp, user_sp, catch_sp;
	struct tss tss; /* at 32: layout.h */
	u32 id;         /* vCPU id = ACPI processor id */
	u32 apic_id;
	volatile bool online, timer_fired, scanning;
	u32 catch_error; /* of the last caught exception */
	u64 catch_rip, catch_cr2;
	u32 trap_depth;
	/* Work from another CPU. */
	void (*volatile work)(void *);
	void *work_arg;
	/* Event channels: where this CPU's vcpu_info is, which ports it takes. */
	volatile struct vcpu_info *vcpu_info;
	bool vcpu_info_registered;
	u64 mine[64];
	u32 upcalls;
	u32 generation; /* of the shared_info mapping in this TLB */
	u32 vectors[256]; /* interrupts taken, by vector */
	u32 early_wakes;  /* interrupts that came between STI and HLT */
} ALIGNED(64);

_Static_assert(offsetof(struct percpu, tss) == 32, "layout.h");
_Static_assert(offsetof(struct percpu, tss) + offsetof(struct tss, rsp) == PERCPU_RSP0, "layout.h");
_Static_assert(offsetof(struct percpu, catch_sp) == PERCPU_CATCH_SP, "layout.h");

extern struct percpu percpu[MAX_CPUS];
extern u32 cpus;        /* how many this test uses: cpus= or the MADT's count */
extern u32 cpus_online; /* started so far */

static inline struct percpu *this_cpu(void)
{
	struct percpu *p;
	asm volatile("movq %%gs:0, %0" : "=r"(p));
	return p;
}

void percpu_init(u32 id);           /* descriptor tables, GS base; on the CPU itself */
void smp_count(void);               /* sets cpus from the command line and the MADT */
void smp_start(void);               /* starts all; a CPU that doesn't come is fatal */
bool smp_start_one(u32 cpu);
s64 smp_initialise(u32 cpu);        /* VCPUOP_initialise alone */
void smp_run(u32 cpu, void (*fn)(void *), void *arg);  /* starts fn; CPU 0 only */
void smp_wait(u32 cpu, u32 ms);     /* until it is done; fatal after ms */
void smp_call(u32 cpu, void (*fn)(void *), void *arg); /* run and wait; itself too */
void smp_all(void (*fn)(void *), void *arg);           /* smp_call on each online CPU in turn */

/* Runs fn in ring 3 with interrupts on; returns its value. */
u64 user_call(u64 (*fn)(void *), void *arg);
