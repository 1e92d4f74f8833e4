// SPDX-License-Identifier: Apache-2.0
// VIRQ_TIMER by single shot, period and set_timer_op: never early, not lost,
// stopped when told.
#include "guest.h"

static u32 port;

/* Arms by one of the two calls, waits, tells how late it came (ns). */
static u64 shot(bool by_set_timer, u64 after)
{
	u32 want = evtchn_count[port] + 1;
	u64 at = pvclock_now() + after;
	struct vcpu_set_singleshot_timer s = {at, 0};
	s64 rc = by_set_timer ? hypercall2(HYPERCALL_set_timer_op, at, 0) : vcpu_op(VCPUOP_set_singleshot_timer, 0, &s);

	CHECK(rc == 0, "arm: %s", errno_name(rc));
	if (!CHECK(evtchn_wait(port, want, LONG_MS), "no timer event %lu ns after arming", after))
		return 0;
	u64 now = pvclock_now();
	CHECK(now >= at, "timer event %lu ns early", at - now);
	EQUAL(evtchn_count[port], want);
	return now - at;
}

/* Ring 3, for at most 10 s. */
static u64 until_count(void *arg)
{
	u64 end = rdtsc() + ns_to_tsc(10000000000);
	while (evtchn_count[port] < (u64)arg) {
		if ((s64)(rdtsc() - end) > 0)
			return 0;
		pause();
	}
	return 1;
}

void test_main(void)
{
	u64 late = 0, period = 10000000;

	upcall_start();
	CHECK(pvclock_now() != 0, "no guest time");
	port = evtchn_bind_virq(VIRQ_TIMER, 0);
	evtchn_unmask_local(port);

	for (u32 i = 0; i < 5; i++) {
		u64 l = shot(i & 1, 2000000 + i * 1000000);
		late = l > late ? l : late;
	}
	printf("latest %lu us after its time\n", late / 1000);
	CHECK(late < 1000000000, "a timer came %lu ms late", late / 1000000);

	/* A deadline that has passed fires at once. */
	u32 want = evtchn_count[port] + 1;
	struct vcpu_set_singleshot_timer s = {1, 0};
	EXPECT(vcpu_op(VCPUOP_set_singleshot_timer, 0, &s), 0);
	CHECK(evtchn_wait(port, want, LONG_MS), "no event for a deadline in the past");

	/* Stopped: nothing comes. */
	want = evtchn_count[port];
	s.timeout_abs_ns = pvclock_now() + 20000000;
	EXPECT(vcpu_op(VCPUOP_set_singleshot_timer, 0, &s), 0);
	EXPECT(vcpu_op(VCPUOP_stop_singleshot_timer, 0, NULL), 0);
	sleep_ms(40);
	EQUAL(evtchn_count[port], want);

	/* Replaced: the later arming counts. */
	s.timeout_abs_ns = pvclock_now() + 100000000000;
	EXPECT(vcpu_op(VCPUOP_set_singleshot_timer, 0, &s), 0);
	s.timeout_abs_ns = pvclock_now() + 3000000;
	EXPECT(vcpu_op(VCPUOP_set_singleshot_timer, 0, &s), 0);
	CHECK(evtchn_wait(port, want + 1, LONG_MS), "re-arming to an earlier time is ignored");

	/* Negative: within 100 ms or so. */
	want = evtchn_count[port];
	EXPECT(hypercall2(HYPERCALL_set_timer_op, ~0ul - 5, 0), 0);
	CHECK(evtchn_wait(port, want + 1, LONG_MS), "no event for a negative deadline");

	/* Periodic: ten periods; the host may be late, and may merge some. In
	 * ring 3, as Xen stops the period of a vCPU that sleeps. */
	want = evtchn_count[port];
	u64 start = pvclock_now();
	EXPECT(vcpu_op(VCPUOP_set_periodic_timer, 0, &period), 0);
	CHECK(user_call(until_count, (void *)(u64)(want + 10)), "%u periodic events", evtchn_count[port] - want);
	u64 took = pvclock_now() - start;
	EXPECT(vcpu_op(VCPUOP_stop_periodic_timer, 0, NULL), 0);
	printf("10 periods of 10 ms took %lu us\n", took / 1000);
	u32 count = evtchn_count[port] - want;
	CHECK(count <= took / period + 2, "%u periodic events in %lu us", count, took / 1000);
	sleep_ms(5); /* one may have been on its way */
	want = evtchn_count[port];
	sleep_ms(40);
	EQUAL(evtchn_count[port], want);
}
