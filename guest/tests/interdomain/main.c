// SPDX-License-Identifier: Apache-2.0
// A loopback channel through interrupts: both ways, coalescing, across vCPUs,
// close and bind again.
#include "guest.h"

void test_main(void)
{
	smp_start();
	upcall_start();
	u32 a = evtchn_alloc_unbound(DOMID_SELF), b = evtchn_bind_interdomain(DOMID_SELF, a);

	/* The binding itself notifies the binder. */
	evtchn_unmask_local(b);
	CHECK(evtchn_wait(b, 1, LONG_MS), "no event from the binding");
	evtchn_unmask_local(a);
	for (u32 i = 0; i < 20; i++) {
		EXPECT(evtchn_send(a), 0);
		if (!CHECK(evtchn_wait(b, i + 2, LONG_MS), "event %u from a to b is lost", i))
			return;
		EXPECT(evtchn_send(b), 0);
		if (!CHECK(evtchn_wait(a, i + 1, LONG_MS), "event %u from b to a is lost", i))
			return;
	}
	EQUAL(evtchn_count[a], 20);
	EQUAL(evtchn_count[b], 21);

	/* Many sends with no one looking are one event. */
	u64 flags = irq_save();
	for (u32 i = 0; i < 5; i++)
		evtchn_send(a);
	irq_restore(flags);
	sti();
	CHECK(evtchn_wait(b, 22, LONG_MS), "coalesced event is lost");
	EQUAL(evtchn_count[b], 22);

	/* Each vCPU in turn takes it. */
	u32 n = 22;
	for (u32 cpu = 0; cpu < cpus; cpu++) {
		if (!upcall_reaches(cpu))
			continue;
		evtchn_mask(b);
		EXPECT(evtchn_bind_vcpu(b, cpu), 0);
		evtchn_unmask_local(b);
		EXPECT(evtchn_send(a), 0);
		CHECK(evtchn_wait(b, ++n, LONG_MS), "event bound to vCPU %u is lost", cpu);
		EQUAL(evtchn_last_cpu[b], cpu);
	}
	/* Masked while it changes vCPU: the unmask delivers it there. */
	if (cpus > 1 && upcall_reaches(1)) {
		evtchn_mask(b);
		EXPECT(evtchn_send(a), 0);
		EXPECT(evtchn_bind_vcpu(b, 1), 0);
		EXPECT(evtchn_unmask(b), 0);
		CHECK(evtchn_wait(b, ++n, LONG_MS), "event masked during bind_vcpu is lost");
		EQUAL(evtchn_last_cpu[b], 1);
		evtchn_mask(b);
		EXPECT(evtchn_bind_vcpu(b, 0), 0);
		evtchn_unmask_local(b);
	}
	/* Close one end, bind anew: works as before. */
	evtchn_mask(b); /* Xen leaves this bit to us, across close and bind too */
	EXPECT(evtchn_close(b), 0);
	EXPECT(evtchn_send(a), 0);
	b = evtchn_bind_interdomain(DOMID_SELF, a);
	n = evtchn_count[b];
	evtchn_unmask_local(b);
	CHECK(evtchn_wait(b, n + 1, LONG_MS), "no event from the second binding");
}
