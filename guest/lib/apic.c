// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

#define LAPIC_BASE 0xfee00000ul
#define IOAPIC_BASE 0xfec00000ul
#define MSR_APIC_BASE 0x1b

enum { REG_ID = 0x2, REG_EOI = 0xb, REG_SPIV = 0xf, REG_ICR = 0x30, REG_ICR_HI = 0x31, REG_LVT_TIMER = 0x32, REG_LVT_LINT0 = 0x35,
       REG_LVT_LINT1 = 0x36, REG_LVT_ERROR = 0x37, REG_TMICT = 0x38, REG_TMCCT = 0x39, REG_TDCR = 0x3e };
#define LVT_MASKED 0x10000

static bool x2apic;

static u32 read(u32 reg)
{
	if (x2apic)
		return rdmsr(0x800 + reg);
	return *(volatile u32 *)(LAPIC_BASE + reg * 16);
}

static void write(u32 reg, u32 v)
{
	if (x2apic)
		wrmsr(0x800 + reg, v);
	else
		*(volatile u32 *)(LAPIC_BASE + reg * 16) = v;
}

static void on_timer(struct frame *f)
{
	(void)f;
	this_cpu()->timer_fired = true;
	apic_eoi();
}

static u32 ticks_per_ms = 1000000;

static u64 spin_briefly(void *arg)
{
	u64 end = rdtsc() + ns_to_tsc(200000);
	(void)arg;
	while ((s64)(rdtsc() - end) < 0)
		pause();
	return 0;
}

/* Hypervisors differ in the timer's rate: measure it against the TSC. Whatever
 * takes the CPU away between the two clocks makes the timer look slow, so the
 * fastest of some measurements is the best. */
static void calibrate(void)
{
	u64 best = 1;
	for (u32 i = 0; i < 3; i++) {
		u64 start = rdtsc();
		write(REG_TMICT, ~0u);
		user_call(spin_briefly, NULL);
		u64 ticks = ~0u - read(REG_TMCCT);
		u64 rate = ticks * tsc_khz() / (rdtsc() - start);
		if (rate > best)
			best = rate;
	}
	ticks_per_ms = best;
	write(REG_TMICT, 0);
}

void apic_init(void)
{
	u64 base = rdmsr(MSR_APIC_BASE);

	trap_handler(VEC_TIMER, on_timer);
	if (this_cpu()->id == 0) {
		/* The 8259s before LINT0: QEMU takes a request of theirs back only
		 * while that is open, and delivers it as vector -1 otherwise. */
		outb(0x21, 0xff);
		outb(0xa1, 0xff);
		x2apic = cpuid(1, 0).ecx >> 21 & 1 && arg_number("x2apic", 1);
	}
	base |= 1u << 11;
	if (x2apic)
		base |= 1u << 10;
	wrmsr(MSR_APIC_BASE, base);
	write(REG_SPIV, 0x100 | VEC_SPURIOUS);
	write(REG_LVT_TIMER, LVT_MASKED);
	write(REG_LVT_LINT0, LVT_MASKED);
	write(REG_LVT_LINT1, LVT_MASKED);
	write(REG_LVT_ERROR, LVT_MASKED);
	write(REG_TDCR, 0xb); /* divide by 1 */
	if (this_cpu()->id == 0)
		calibrate();
}

u32 apic_id(void) { return x2apic ? read(REG_ID) : read(REG_ID) >> 24; }

void apic_eoi(void) { write(REG_EOI, 0); }

static void icr(u32 dest, u32 v)
{
	if (x2apic) {
		wrmsr(0x800 + REG_ICR, (u64)dest << 32 | v);
		return;
	}
	/* A handler on this CPU may send one too. */
	u64 flags = irq_save();
	write(REG_ICR_HI, dest << 24);
	write(REG_ICR, v);
	irq_restore(flags);
}

void apic_ipi(u32 cpu, u8 vector) { icr(percpu[cpu].apic_id, 0x4000 | vector); }

void apic_init_sipi(u32 cpu, u8 page)
{
	icr(percpu[cpu].apic_id, 0x4500); /* INIT, assert */
	sleep_ms(10);
	icr(percpu[cpu].apic_id, 0x4600 | page);
	sleep_ms(1);
	/* Ignored where the first one was taken. */
	if (!percpu[cpu].online)
		icr(percpu[cpu].apic_id, 0x4600 | page);
}

void apic_timer(u32 ms)
{
	if (!ms) {
		write(REG_TMICT, 0);
		write(REG_LVT_TIMER, LVT_MASKED);
		return;
	}
	u64 ticks = (u64)ms * ticks_per_ms;
	apic_timer_ticks(ticks > 0xffffffff ? 0xffffffff : ticks);
}

void apic_timer_ticks(u32 ticks)
{
	write(REG_LVT_TIMER, VEC_TIMER);
	write(REG_TMICT, ticks);
}

u32 apic_ticks_per_ms(void) { return ticks_per_ms; }

static void ioapic_write(u32 reg, u32 v)
{
	*(volatile u32 *)IOAPIC_BASE = reg;
	*(volatile u32 *)(IOAPIC_BASE + 0x10) = v;
}

void ioapic_route(u32 pin, u8 vector, u32 cpu)
{
	ioapic_write(0x10 + 2 * pin, LVT_MASKED);
	ioapic_write(0x11 + 2 * pin, percpu[cpu].apic_id << 24);
	ioapic_write(0x10 + 2 * pin, 1u << 15 | vector);
}

void ioapic_mask(u32 pin) { ioapic_write(0x10 + 2 * pin, LVT_MASKED); }
