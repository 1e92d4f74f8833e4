// SPDX-License-Identifier: Apache-2.0
// The order in which a test's world comes up.
#include "guest.h"

const char test_name[] = TEST_NAME;

NORETURN void boot_main(void)
{
	trap_init();
	percpu_init(0);
	boot_parse();
	window_init();
	if (xen_detect()) {
		hypercall_init();
		if (!memory_map_entries)
			memory_map_from_xen();
	} else if (!test_without_xen) {
		skip("not a Xen guest");
	}
	clock_init();
	smp_count();
	apic_init();
	percpu[0].apic_id = apic_id();
	percpu[0].online = true;
	test_main();
	finish();
}
