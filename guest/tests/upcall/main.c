// SPDX-License-Identifier: Apache-2.0
// Every vCPU gets rounds= IPIs (by event channel) from vCPU 0 and as many from
// its neighbour, each as an upcall by the method of upcall=, in ring 0 and in
// ring 3.
#include "guest.h"

static u32 from0[MAX_CPUS], beside[MAX_CPUS];
static volatile u32 failed;

/* Ring 3: an event that comes while a CPU still looks for more is taken without
 * an upcall of its own. */
static u64 until_it_has_looked(void *cpu)
{
	while (percpu[(u64)cpu].scanning)
		pause();
	return 0;
}

static void send(u32 cpu, u32 port, u32 want)
{
	if (evtchn_send(port) || !evtchn_wait(port, want, LONG_MS))
		failed = port;
	else
		user_call(until_it_has_looked, (void *)(u64)cpu);
}

static u32 rounds;

static void to_neighbour(void *arg)
{
	u32 to = (u64)arg;
	for (u32 i = 1; i <= rounds && !failed; i++)
		send(to, beside[to], i);
}

static volatile u32 stop;

static u64 spin(void *arg)
{
	(void)arg;
	while (!stop)
		pause();
	return 0;
}
static void in_ring3(void *arg)
{
	(void)arg;
	user_call(spin, NULL);
}

void test_main(void)
{
	rounds = arg_number("rounds", 20);
	smp_start();
	upcall_start();
	printf("upcall by %s, %u vCPUs\n", upcall_names[upcall_method], cpus);
	for (u32 i = 0; i < cpus; i++) {
		from0[i] = evtchn_bind_ipi(i);
		beside[i] = evtchn_bind_ipi(i);
		if (upcall_reaches(i)) {
			evtchn_unmask_local(from0[i]);
			evtchn_unmask_local(beside[i]);
		}
	}
	for (u32 i = 0; i < cpus && !failed; i++) {
		if (!upcall_reaches(i))
			continue;
		u32 before = percpu[i].upcalls;
		for (u32 k = 1; k <= rounds && !failed; k++)
			send(i, from0[i], k);
		smp_call((i + cpus - 1) % cpus, to_neighbour, (void *)(u64)i);
		CHECK(!failed, "vCPU %u: an event on port %u did not arrive", i, failed);
		EQUAL(evtchn_count[from0[i]], rounds);
		EQUAL(evtchn_count[beside[i]], rounds);
		EQUAL(evtchn_last_cpu[from0[i]], i);
		CHECK(percpu[i].upcalls - before >= 2 * rounds, "vCPU %u: %u upcalls for %u events", i, percpu[i].upcalls - before, 2 * rounds);
	}
	/* Into a running ring 3. */
	for (u32 i = 1; i < cpus && !failed; i++) {
		if (!upcall_reaches(i))
			continue;
		stop = 0;
		smp_run(i, in_ring3, NULL);
		for (u32 k = 1; k <= 3 && !failed; k++)
			send(i, from0[i], rounds + k);
		CHECK(!failed, "vCPU %u in ring 3: an event on port %u did not arrive", i, failed);
		stop = 1;
		smp_wait(i, LONG_MS);
	}
	/* No upcall without an event. */
	sleep_ms(5);
	u32 quiet = upcalls_total();
	sleep_ms(20);
	EQUAL(upcalls_total(), quiet);
}
