// SPDX-License-Identifier: Apache-2.0
// Ends by a triple fault, after its verdict.
#include "guest.h"

const bool test_without_xen = true;

void test_main(void)
{
	struct {
		u16 limit;
		u64 base;
	} PACKED none = {0, 0};

	verdict("PASS", "now a triple fault");
	asm volatile("lidt %0; ud2" ::"m"(none));
}
