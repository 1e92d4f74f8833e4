// SPDX-License-Identifier: Apache-2.0
// Ends in the way asked for, after its verdict:
//   code=poweroff|reboot|crash|suspend|watchdog|soft_reset
//   from=N  the vCPU that asks
// suspend may return (1: cancelled); then the guest powers off. watchdog arms one
// of 1 s and does not pat it.
#include "guest.h"

static u32 reason;

static void ask(void *arg)
{
	struct sched_shutdown s = {reason};
	(void)arg;
	s64 rc = sched_op(SCHEDOP_shutdown, &s);
	printf("SHUTDOWN returned %s\n", errno_name(rc));
	end_guest(SHUTDOWN_poweroff);
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

void test_main(void)
{
	static const char *const names[] = {"poweroff", "reboot", "suspend", "crash", "watchdog", "soft_reset"};
	char code[16];
	u32 from = arg_number("from", 0);

	if (!arg_text("code", code, sizeof(code)))
		memcpy(code, "poweroff", 9);
	while (reason < ARRAY_SIZE(names) && strcmp(code, names[reason]))
		reason++;
	if (reason == ARRAY_SIZE(names))
		fatal("code=%s: want poweroff, reboot, suspend, crash, watchdog or soft_reset", code);
	smp_start();
	if (from >= cpus)
		fatal("from=%u, but there are %u vCPUs", from, cpus);
	verdict("PASS", "now %s from vCPU %u", code, from);
	if (reason == SHUTDOWN_watchdog) {
		struct sched_watchdog w = {.id = 0, .timeout = 1};
		sched_op(SCHEDOP_watchdog, &w);
		for (u32 i = 0; i < 5; i++)
			wait_for(never, NULL, 1000);
		printf("SHUTDOWN the watchdog did not bite\n");
		end_guest(SHUTDOWN_crash);
	}
	if (from == 0)
		ask(NULL);
	smp_run(from, ask, NULL);
	for (;;)
		wait_for(never, NULL, 1000);
}
