// SPDX-License-Identifier: Apache-2.0
// Event channel IPIs: to oneself, to every vCPU, from every vCPU.
#include "guest.h"

static u32 port[MAX_CPUS];

static void send_to(void *arg)
{
	u32 target = (u64)arg;
	if (evtchn_send(port[target]))
		locked_inc(&checks_bad);
}

void test_main(void)
{
	smp_start();
	upcall_start();
	for (u32 i = 0; i < cpus; i++) {
		port[i] = evtchn_bind_ipi(i);
		evtchn_unmask_local(port[i]);
	}
	for (u32 from = 0; from < cpus; from++) {
		for (u32 to = 0; to < cpus; to++) {
			if (!upcall_reaches(to) || (cpus > 4 && from && to && to != (from + 1) % cpus))
				continue;
			u32 want = evtchn_count[port[to]] + 1;
			smp_call(from, send_to, (void *)(u64)to);
			if (!CHECK(evtchn_wait(port[to], want, LONG_MS), "IPI from vCPU %u to %u did not arrive", from, to))
				return;
			EQUAL(evtchn_count[port[to]], want);
			EQUAL(evtchn_last_cpu[port[to]], to);
		}
	}
	/* A bound IPI port is gone after close. */
	for (u32 i = 0; i < cpus; i++)
		EXPECT(evtchn_close(port[i]), 0);
}
