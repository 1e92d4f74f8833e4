// SPDX-License-Identifier: Apache-2.0
// The runstate area: by hypercall, in memory (across a page boundary too), its
// sums, and the update flag.
#include "guest.h"

static u8 pages[2][4096] ALIGNED(4096);

static u64 sum(const volatile struct runstate_info *r) { return r->time[0] + r->time[1] + r->time[2] + r->time[3]; }

static s64 set_area(u32 vcpu, u64 addr) { return vcpu_op(VCPUOP_register_runstate_memory_area, vcpu, &addr); }

static void by_call(void)
{
	struct runstate_info a, b;

	EXPECT(vcpu_op(VCPUOP_get_runstate_info, 0, &a), 0);
	/* A sleep may be short where the timer was measured under load: by the clock. */
	u64 from = pvclock_now(), passed = 0;
	for (u32 i = 0; i < 20 && passed < 5000000; i++) {
		sleep_ms(10);
		passed = pvclock_now() - from;
	}
	EXPECT(vcpu_op(VCPUOP_get_runstate_info, 0, &b), 0);
	EQUAL(b.state, RUNSTATE_running);
	CHECK(b.state_entry_time >= a.state_entry_time, "entry time went back");
	for (u32 i = 0; i < 4; i++)
		CHECK(b.time[i] >= a.time[i], "time in state %u went back", i);
	CHECK(passed >= 5000000 && sum(&b) - sum(&a) >= passed, "all states together grew by %lu ns in %lu", sum(&b) - sum(&a), passed);
	CHECK(sum(&b) <= pvclock_now() + 1000000000, "more time in states than there was");
	for (u32 i = 1; i < cpus; i++)
		EXPECT(vcpu_op(VCPUOP_get_runstate_info, i, &b), 0);
}

/* Filled with 0xff before: what Xen wrote is a plausible runstate. */
static void area(u8 *at)
{
	memset(pages, 0xff, sizeof(pages));
	EXPECT(set_area(0, (u64)at), 0);
	struct runstate_info r;
	memcpy(&r, at, sizeof(r));
	EQUAL(r.state, RUNSTATE_running);
	CHECK(sum(&r) != ~0ul * 4, "nothing written");
	u64 before = sum(&r);
	sleep_ms(5);
	memcpy(&r, at, sizeof(r));
	EQUAL(r.state, RUNSTATE_running);
	CHECK(!(r.state_entry_time & RUNSTATE_UPDATE), "update flag left set");
	CHECK(sum(&r) >= before, "time in states went back");
	CHECK(at[sizeof(r)] == 0xff && at[-1] == 0xff, "wrote outside of the area");
}

void test_main(void)
{
	upcall_start();
	by_call();
	area(pages[0] + 64);
	area(pages[0] + 4096 - 24); /* crosses */
	area(pages[0] + 4096 - 4);
	area(pages[0] + 103); /* not aligned */
	vm_assist(VMASST_CMD_enable, VMASST_TYPE_runstate_update_flag);
	area(pages[0] + 64);
	vm_assist(VMASST_CMD_disable, VMASST_TYPE_runstate_update_flag);
	EXPECT(set_area(0, 0), 0); /* off: address 0 */
}
