// SPDX-License-Identifier: Apache-2.0
// sched_op: yield, block, the errors of poll and shutdown, watchdogs that do
// not fire. (shutdown is a test of its own, poll too.)
#include "guest.h"

static void poll_errors(void)
{
	u32 ports[129] = {0};
	struct sched_poll p = {.ports = (u64)ports, .nr_ports = 129, .timeout = 1};

	EXPECT(sched_op(SCHEDOP_poll, &p), -XEN_EINVAL);
	p.nr_ports = ~0u;
	EXPECT(sched_op(SCHEDOP_poll, &p), -XEN_EINVAL);
	p.nr_ports = 1;
	ports[0] = 0x7fffffff;
	EXPECT(sched_op(SCHEDOP_poll, &p), -XEN_EINVAL);
	p.ports = (u64)BAD_POINTER;
	EXPECT(sched_op(SCHEDOP_poll, &p), -XEN_EFAULT);
	EXPECT(sched_op(SCHEDOP_poll, BAD_POINTER), -XEN_EFAULT);
	p.nr_ports = 0; /* nothing to read: no fault; a timeout long past */
	EXPECT(sched_op(SCHEDOP_poll, &p), 0);
}

static void block(void)
{
	u32 port = evtchn_bind_virq(VIRQ_TIMER, 0);
	struct vcpu_set_singleshot_timer s = {pvclock_now() + 3000000, 0};

	evtchn_unmask_local(port);
	CHECK(s.timeout_abs_ns > 3000000, "no guest time");
	EXPECT(vcpu_op(VCPUOP_set_singleshot_timer, 0, &s), 0);
	/* Other interrupts may end a block too. */
	u32 n;
	for (n = 0; n < 50 && !evtchn_count[port]; n++)
		EXPECT(sched_op(SCHEDOP_block, NULL), 0);
	EQUAL(evtchn_count[port], 1);
	CHECK(pvclock_now() >= s.timeout_abs_ns, "block ended early");
	printf("woke after %u blocks\n", n);
	evtchn_close(port);
}

static void watchdog(void)
{
	/* Not with timeout 0: Xen takes that for a watchdog that fires now. */
	struct sched_watchdog w = {.id = 0, .timeout = 600};

	s64 a = sched_op(SCHEDOP_watchdog, &w), b = sched_op(SCHEDOP_watchdog, &w);
	CHECK(a > 0 && b > 0 && a != b, "watchdogs %ld and %ld", a, b);
	/* There are two. (Xen makes this one number unsigned on its way.) */
	EXPECT((s32)sched_op(SCHEDOP_watchdog, &w), -XEN_ENOSPC);
	w.id = a;
	EXPECT(sched_op(SCHEDOP_watchdog, &w), 0); /* pat */
	w.timeout = 0;
	EXPECT(sched_op(SCHEDOP_watchdog, &w), 0);
	EXPECT(sched_op(SCHEDOP_watchdog, &w), -XEN_EINVAL);
	w.id = b;
	EXPECT(sched_op(SCHEDOP_watchdog, &w), 0);
	w.id = 77;
	EXPECT(sched_op(SCHEDOP_watchdog, &w), -XEN_EINVAL);
	EXPECT(sched_op(SCHEDOP_watchdog, BAD_POINTER), -XEN_EFAULT);
}

void test_main(void)
{
	upcall_start();
	EXPECT(sched_op(SCHEDOP_yield, NULL), 0);
	EXPECT(sched_op(SCHEDOP_shutdown, BAD_POINTER), -XEN_EFAULT);
	EXPECT(sched_op(SCHEDOP_shutdown_code, BAD_POINTER), -XEN_EFAULT);
	EXPECT(sched_op(99, NULL), -XEN_ENOSYS);
	poll_errors();
	block();
	watchdog();
}
