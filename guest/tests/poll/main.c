// SPDX-License-Identifier: Apache-2.0
// SCHEDOP_poll: ready at once, woken by an event (masked too), by its timeout,
// by another vCPU.
#include "guest.h"

static u32 a, b;

static s64 poll(u32 *ports, u32 n, u64 timeout)
{
	struct sched_poll p = {.ports = (u64)ports, .nr_ports = n, .timeout = timeout};
	return sched_op(SCHEDOP_poll, &p);
}

static void send_later(void *arg)
{
	sleep_ms((u64)arg);
	evtchn_send(a);
}

void test_main(void)
{
	smp_start();
	upcall_start();
	a = evtchn_alloc_unbound(DOMID_SELF);
	b = evtchn_bind_interdomain(DOMID_SELF, a);
	u32 timer = evtchn_bind_virq(VIRQ_TIMER, 0);
	u32 ports[3] = {a, b, timer};
	sleep_ms(1);
	cli(); /* events are taken by hand */

	/* b is pending from its binding. */
	u64 start = pvclock_now();
	EXPECT(poll(&b, 1, 0), 0);
	EXPECT(poll(ports, 2, 0), 0);
	CHECK(evtchn_clear(b), "binding did not make the port pending");

	/* Timeout: absolute guest time, not before it. */
	u64 at = pvclock_now() + 5000000;
	for (u32 i = 0; i < 100 && pvclock_now() < at; i++) /* may return early */
		EXPECT(poll(&b, 1, at), 0);
	CHECK(pvclock_now() >= at, "100 polls returned before their timeout");
	EXPECT(poll(&b, 1, 1), 0); /* past: at once */
	CHECK(pvclock_now() - start < 2000000000, "polls took over 2 s");

	/* Its own timer wakes it: one of several ports, masked. */
	struct vcpu_set_singleshot_timer s = {pvclock_now() + 5000000, 0};
	EXPECT(vcpu_op(VCPUOP_set_singleshot_timer, 0, &s), 0);
	u32 i;
	for (i = 0; i < 100 && !evtchn_pending(timer); i++)
		EXPECT(poll(ports, 3, 0), 0);
	CHECK(evtchn_clear(timer), "%u polls, no timer event", i);

	/* Another vCPU's event, with one port and with several. */
	for (u32 k = 0; cpus > 1 && k < 4; k++) {
		smp_run(1, send_later, (void *)3);
		for (i = 0; i < 100 && !evtchn_pending(b); i++)
			EXPECT(k & 1 ? poll(&b, 1, 0) : poll(ports, 3, pvclock_now() + 1000000000), 0);
		CHECK(evtchn_clear(b), "round %u: %u polls, no event from vCPU 1", k, i);
		smp_wait(1, LONG_MS);
	}
	CHECK(pvclock_now() - start < 4000000000, "polls took over 4 s");
}
