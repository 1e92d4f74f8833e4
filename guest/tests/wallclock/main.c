// SPDX-License-Identifier: Apache-2.0
// Time: the paravirtual clock on every vCPU, forwards across all of them, at
// the TSC's rate; the wall clock.
//   now=SECONDS  the host's Unix time at start, to compare with (loosely)
#include "guest.h"

static volatile u64 last;
static volatile u32 turn, backwards;
static u32 rounds;

/* Ring 3 on each vCPU, in turn: reads the clock right after its neighbour did. */
static u64 relay(void *arg)
{
	u32 me = this_cpu()->id;
	u64 end = rdtsc() + ns_to_tsc(10000000000);

	(void)arg;
	for (u32 i = 0; i < rounds; i++) {
		while (turn != i * cpus_online + me) {
			if ((s64)(rdtsc() - end) > 0)
				return 0;
			pause();
		}
		u64 now = pvclock_now();
		if (now < last)
			locked_inc(&backwards);
		last = now;
		mfence();
		turn = i * cpus_online + me + 1;
	}
	return 1;
}

static void run(void *arg) { user_call(relay, arg); }

static void page(void *arg)
{
	volatile struct vcpu_time_info *t = (volatile struct vcpu_time_info *)&this_cpu()->vcpu_info->time;
	(void)arg;
	CHECK(t->version != 0 && !(t->version & 1), "vCPU %u: time version %u", this_cpu()->id, t->version);
	CHECK(t->tsc_to_system_mul != 0, "vCPU %u: no TSC multiplier", this_cpu()->id);
	u64 a = pvclock_now(), b = pvclock_now();
	CHECK(a != 0 && b >= a, "vCPU %u: clock went from %lu to %lu", this_cpu()->id, a, b);
}

void test_main(void)
{
	rounds = arg_number("rounds", 50);
	smp_start();
	upcall_start();
	smp_all(page, NULL);

	/* A stretch by TSC and by the clock: within 1 %. */
	u64 t0 = rdtsc(), n0 = pvclock_now();
	sleep_ms(20);
	u64 tsc_ns = (rdtsc() - t0) * 1000000 / tsc_khz(), ns = pvclock_now() - n0;
	CHECK(ns > tsc_ns - tsc_ns / 100 - 1000000 && ns < tsc_ns + tsc_ns / 100 + 1000000, "%lu ns by the clock, %lu by the TSC", ns, tsc_ns);

	for (u32 i = 1; i < cpus_online; i++)
		smp_run(i, run, NULL);
	run(NULL);
	for (u32 i = 1; i < cpus_online; i++)
		smp_wait(i, LONG_MS);
	EQUAL(turn, rounds * cpus_online);
	CHECK(backwards == 0, "the clock went back %u times between vCPUs", backwards);

	u64 sec = shared_info->wc_sec | (u64)shared_info->wc_sec_hi << 32;
	CHECK(!(shared_info->wc_version & 1), "wall clock version %u", shared_info->wc_version);
	CHECK(shared_info->wc_nsec < 1000000000, "wall clock nsec %u", shared_info->wc_nsec);
	u64 unix_time = sec + (shared_info->wc_nsec + pvclock_now()) / 1000000000;
	printf("wall clock %lu\n", unix_time);
	CHECK(unix_time > 1577836800 && unix_time < 7258118400, "wall clock %lu is not in 2020..2199", unix_time);
	u64 want = arg_number("now", 0);
	if (want)
		CHECK(unix_time + 5 >= want && unix_time <= want + 600, "wall clock %lu, host had %lu", unix_time, want);
}
