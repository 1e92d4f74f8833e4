// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

struct gate {
	u16 offset0, selector;
	u8 ist, type;
	u16 offset1;
	u32 offset2, reserved;
};
static struct gate idt[256] ALIGNED(16);
static void (*handlers[256])(struct frame *);

extern u8 trap_stubs[256][16];
extern u8 catch_landing[], user_done[], user_return[];

static void set_gate(u32 vector, u64 target, u8 type, u8 ist)
{
	idt[vector] = (struct gate){
		.offset0 = target, .offset1 = target >> 16, .offset2 = target >> 32,
		.selector = SEL_CODE64, .type = type, .ist = ist,
	};
}

void trap_init(void)
{
	for (u32 v = 0; v < 256; v++) /* NMI, #DF and #MC on their own stack */
		set_gate(v, (u64)trap_stubs[v], 0x8e, v == 2 || v == 8 || v == 18);
	set_gate(3, (u64)trap_stubs[3], 0xee, 0);
}

void trap_init_cpu(void)
{
	struct {
		u16 limit;
		void *base;
	} PACKED p = {sizeof(idt) - 1, idt};
	asm volatile("lidt %0" ::"m"(p));
}

void trap_handler(u8 vector, void (*fn)(struct frame *)) { handlers[vector] = fn; }

static NORETURN void die(struct frame *f)
{
	static u32 dying;
	if (xchg32(&dying, 1)) /* an exception while printing one, or two CPUs */
		end_guest(SHUTDOWN_crash);
	printf("EXCEPTION vector=%lu error=0x%lx cpu=%u rip=0x%lx cs=0x%lx rsp=0x%lx rflags=0x%lx cr2=0x%lx\n", f->vector, f->error,
	       this_cpu()->id, f->rip, f->cs, f->rsp, f->rflags, read_cr2());
	printf("rax=%lx rbx=%lx rcx=%lx rdx=%lx rsi=%lx rdi=%lx rbp=%lx r8=%lx r10=%lx\n", f->rax, f->rbx, f->rcx, f->rdx, f->rsi,
	       f->rdi, f->rbp, f->r8, f->r10);
	verdict("FAIL", "exception %lu at 0x%lx error 0x%lx cr2 0x%lx", f->vector, f->rip, f->error, read_cr2());
	end_guest(SHUTDOWN_crash);
}

/* Whoever halts has looked for work with interrupts off, and the shadow of STI
 * keeps them out until the HLT. One that comes all the same, between the two, may
 * be the one waited for: executing the HLT now would be to sleep for ever. An NMI
 * may come there; for anything else there is no excuse, and finish() reports it. */
static void stay_awake(struct percpu *c, struct frame *f)
{
	if (f->rip != (u64)sti_hlt_halt || f->cs != SEL_CODE64)
		return;
	if (f->vector != 2)
		c->early_wakes++;
	f->rip++; /* the length of HLT */
}

/* The frame's code goes on in ring 0 at rip, with interrupts off. */
static void land(struct frame *f, u8 *rip, u64 rsp)
{
	f->rip = (u64)rip;
	f->cs = SEL_CODE64;
	f->ss = SEL_DATA;
	f->rsp = rsp;
	f->rflags &= ~FLAGS_IF;
}

/* Called by trap_common with interrupts off. */
void trap(struct frame *f)
{
	struct percpu *c = this_cpu();

	if (f->rip == (u64)user_done && f->vector == 6 && f->cs == SEL_USER_CODE) {
		land(f, user_return, c->kernel_sp);
		return;
	}
	c->vectors[f->vector]++;
	if (f->vector < 32 && f->vector != 2) {
		if (!c->catch_sp)
			die(f);
		c->catch_error = f->error;
		c->catch_rip = f->rip;
		c->catch_cr2 = read_cr2();
		land(f, catch_landing, c->catch_sp);
		f->rax = f->vector;
		return;
	}
	stay_awake(c, f);
	if (handlers[f->vector])
		handlers[f->vector](f);
	else if (f->vector != 2 && f->vector != VEC_SPURIOUS)
		apic_eoi();
}

/* The longest stretch one timer shot is asked for: the counter has 32 bits. */
#define SHOT_MS 2000

bool wait_for(bool (*cond)(void *), void *arg, u32 ms)
{
	u64 flags = irq_save();
	struct percpu *c = this_cpu();
	bool ok = cond(arg);

	while (!ok && ms) {
		u32 shot = ms < SHOT_MS ? ms : SHOT_MS;
		ms -= shot;
		c->timer_fired = false;
		apic_timer(shot);
		while (!(ok = cond(arg)) && !READ_ONCE(c->timer_fired)) {
			sti_hlt();
			cli();
		}
		apic_timer(0);
	}
	irq_restore(flags);
	return ok;
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

void sleep_ms(u32 ms) { wait_for(never, NULL, ms); }
