// SPDX-License-Identifier: Apache-2.0
// All vCPUs come up (by VCPUOP_initialise and up; sipi=1: INIT and SIPI), in 64-bit
// mode with their own state, run work, take LAPIC IPIs, run ring 3 at once.
#include "guest.h"

static volatile u32 ran[MAX_CPUS], arrived;

static void work(void *arg)
{
	u32 i = this_cpu()->id;

	ran[i] += (u64)arg;
	CHECK(this_cpu() == &percpu[i], "vCPU %u has another's data", i);
	CHECK(xen_base == 0 || xen_leaf(4, 0).ebx == i, "vCPU %u: CPUID says %u", i, xen_leaf(4, 0).ebx);
}

/* Ring 3: all of them have to be in here together. */
static u64 meet(void *arg)
{
	(void)arg;
	locked_inc(&arrived);
	return spin_until(&arrived, cpus_online, 10000000000);
}

static volatile u32 met;
static void go(void *arg)
{
	if (user_call(meet, arg))
		locked_inc(&met);
}

void test_main(void)
{
	smp_start();
	EQUAL(cpus_online, cpus);
	for (u32 round = 0; round < 3; round++)
		smp_all(work, (void *)1);
	for (u32 i = 0; i < cpus; i++) {
		EQUAL(ran[i], 3);
		if (i && xen_base)
			EXPECT(vcpu_op(VCPUOP_is_up, i, NULL), 1);
	}
	for (u32 i = 1; i < cpus; i++)
		smp_run(i, go, NULL);
	go(NULL);
	for (u32 i = 1; i < cpus; i++)
		smp_wait(i, LONG_MS);
	EQUAL(met, cpus);
	printf("%u vCPUs by %s\n", cpus_online, arg_number("sipi", 0) ? "INIT and SIPI" : "VCPUOP_up");
}
