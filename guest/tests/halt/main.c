// SPDX-License-Identifier: Apache-2.0
// An interrupt wakes a CPU that halts, however close before its HLT it comes:
// rounds= (500) shots of all lengths from none to twice the time that arming one
// takes. There is no other timer: a wake-up that is lost is lost for ever.
//   by=timer  the LAPIC's timer (default)
//   by=event  VIRQ_TIMER, by the method of upcall=
#include "guest.h"

const bool test_without_xen = true;

static bool by_event;
static u32 port;

static u32 taken(void) { return by_event ? evtchn_count[port] : this_cpu()->vectors[VEC_TIMER]; }

static void arm(u64 ns)
{
	if (!by_event) {
		u64 ticks = ns * apic_ticks_per_ms() / 1000000;
		apic_timer_ticks(ticks ? ticks : 1);
		return;
	}
	struct vcpu_set_singleshot_timer s = {pvclock_now() + ns, 0};
	EXPECT(vcpu_op(VCPUOP_set_singleshot_timer, 0, &s), 0);
}

/* Interrupts are off but for the wait. Tells how long arming took, in ns. */
static u64 shot(u64 ns)
{
	u32 before = taken();
	u64 start = rdtsc();
	arm(ns);
	u64 cost = (rdtsc() - start) * 1000000 / tsc_khz();
	while (taken() == before) {
		sti_hlt();
		cli();
	}
	return cost;
}

void test_main(void)
{
	u32 rounds = arg_number("rounds", 500), random = 1;
	u64 cost = ~0ul;

	by_event = arg_is("by", "event");
	if (by_event && !hypercall_ready)
		skip("no Xen, no events");
	if (by_event) {
		upcall_start();
		port = evtchn_bind_virq(VIRQ_TIMER, 0);
		evtchn_unmask_local(port);
	}
	cli();
	for (u32 i = 0; i < 10; i++) {
		u64 c = shot(1000000);
		cost = c < cost ? c : cost;
	}
	for (u32 i = 0; i < rounds; i++) {
		random = random * 1103515245 + 12345;
		shot((random >> 8) % (2 * cost + 1));
	}
	printf("%u shots of up to %lu us\n", rounds, 2 * cost / 1000);
	CHECK(taken() >= rounds, "%u interrupts for %u shots", taken(), rounds);
}
