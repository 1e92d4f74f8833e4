// SPDX-License-Identifier: Apache-2.0
// The shared_info page: what is in it, and that it keeps everything when it
// moves between RAM and holes, events included.
#include "guest.h"

static u32 a, b; /* two ends of one channel */

static void at(u64 gfn)
{
	if (gfn != shared_info_gfn)
		shared_info_move(gfn);
	/* The marks written at the first place. */
	EQUAL(shared_info->evtchn_mask[63], 0xfeedface12345678);
	EQUAL(shared_info->evtchn_mask[1], ~0ul);
	/* Xen writes here and not where it was. */
	evtchn_clear(b);
	EXPECT(evtchn_send(a), 0);
	CHECK(evtchn_pending(b), "gfn 0x%lx: event not pending", gfn);
	CHECK(evtchn_clear(b), "gfn 0x%lx: event gone", gfn);
	CHECK(shared_info->wc_sec != 0, "gfn 0x%lx: no wall clock", gfn);
	u64 now = pvclock_read((volatile struct vcpu_time_info *)&shared_info->vcpu_info[0].time);
	CHECK(now != 0, "gfn 0x%lx: no time in vcpu_info 0", gfn);
	/* The identity map shows the same memory. */
	EQUAL(*(volatile u64 *)((gfn << PAGE_SHIFT) + 0xa00 + 63 * 8), 0xfeedface12345678);
}

void test_main(void)
{
	shared_info_init();
	CHECK((shared_info->wc_version & 1) == 0, "wall clock version is odd");
	a = evtchn_alloc_unbound(DOMID_SELF);
	b = evtchn_bind_interdomain(DOMID_SELF, a);
	/* Bound but masked: pending is recorded, no upcall. */
	shared_info->evtchn_mask[63] = 0xfeedface12345678;

	at(shared_info_ram_gfn(0));
	at(shared_info_ram_gfn(1));
	if (CHECK(shared_info_hole_gfn(0) != 0, "the memory map leaves no hole")) {
		at(shared_info_hole_gfn(0));
		at(shared_info_hole_gfn(1));
		at(shared_info_ram_gfn(0));
		at(shared_info_hole_gfn(0));
	}
	/* Asked to go where it is already. */
	EXPECT(add_to_physmap(XENMAPSPACE_shared_info, 0, shared_info_gfn), 0);
	at(shared_info_gfn);
	/* An event that waits while the page moves is still there. */
	EXPECT(evtchn_send(a), 0);
	shared_info_move(shared_info_ram_gfn(2));
	CHECK(evtchn_pending(b), "a pending event was lost by the move");
	shared_info_move(shared_info_ram_gfn(3));
	CHECK(evtchn_pending(b), "a pending event was lost by the second move");
}
