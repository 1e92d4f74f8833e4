// SPDX-License-Identifier: Apache-2.0
// Never ends, to test time limits. There is no verdict. It prints HANG when all
// vCPUs but the first hang, and then does so itself.
//   mode=hlt   every vCPU halts with interrupts off (default)
//   mode=spin  every vCPU loops in ring 3
#include "guest.h"

const bool test_without_xen = true;

static volatile u32 hanging;

/* Ring 3. */
static u64 until_others_hang(void *arg)
{
	(void)arg;
	while (hanging + 1 < cpus_online)
		pause();
	return 0;
}

static u64 spin(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return 0;
}

static void hang(void *arg)
{
	(void)arg;
	locked_inc(&hanging);
	if (arg_is("mode", "spin"))
		user_call(spin, NULL);
	cli();
	for (;;)
		asm volatile("hlt");
}

void test_main(void)
{
	smp_start();
	for (u32 i = 1; i < cpus_online; i++)
		smp_run(i, hang, NULL);
	user_call(until_others_hang, NULL);
	printf("HANG %u vCPUs\n", cpus_online);
	hang(NULL);
}
