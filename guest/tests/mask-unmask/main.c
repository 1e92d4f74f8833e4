// SPDX-License-Identifier: Apache-2.0
// Masking: a masked event waits without an upcall, unmasking raises it, and
// the steps are done in the order pending, mask, selector, upcall_pending.
#include "guest.h"

static u32 a, b;

static void bits(bool pending, bool selector, bool upcall, const char *when)
{
	volatile struct vcpu_info *v = this_cpu()->vcpu_info;

	CHECK(evtchn_pending(b) == pending, "%s: pending is %u", when, !pending);
	CHECK((v->evtchn_pending_sel >> (b / 64) & 1) == selector, "%s: selector is %u", when, !selector);
	CHECK((v->evtchn_upcall_pending & 1) == upcall, "%s: upcall_pending is %u", when, !upcall);
}

static void clear(void)
{
	volatile struct vcpu_info *v = this_cpu()->vcpu_info;

	evtchn_clear(b);
	v->evtchn_upcall_pending = 0;
	xchg64(&v->evtchn_pending_sel, 0);
}

void test_main(void)
{
	upcall_start();
	a = evtchn_alloc_unbound(DOMID_SELF);
	b = evtchn_bind_interdomain(DOMID_SELF, a);
	sleep_ms(1);
	cli(); /* the bits stay as Xen leaves them */
	clear();

	evtchn_mask(b);
	EXPECT(evtchn_send(a), 0);
	bits(true, false, false, "sent while masked");
	EXPECT(evtchn_send(a), 0);
	bits(true, false, false, "sent twice while masked");
	EXPECT(evtchn_unmask(b), 0);
	CHECK(!evtchn_masked(b), "unmask leaves the mask bit");
	bits(true, true, true, "unmasked with an event waiting");

	clear();
	EXPECT(evtchn_unmask(b), 0);
	bits(false, false, false, "unmasked with nothing waiting");
	EXPECT(evtchn_send(a), 0);
	bits(true, true, true, "sent while unmasked");

	/* Pending already: nothing more happens, even with the rest cleared. */
	this_cpu()->vcpu_info->evtchn_upcall_pending = 0;
	xchg64(&this_cpu()->vcpu_info->evtchn_pending_sel, 0);
	EXPECT(evtchn_send(a), 0);
	bits(true, false, false, "sent while pending");
	/* Not masked: unmask has nothing to do. */
	EXPECT(evtchn_unmask(b), 0);
	bits(true, false, false, "unmask of an unmasked port");

	/* The selector was set: upcall_pending is left alone. */
	clear();
	locked_bts(&this_cpu()->vcpu_info->evtchn_pending_sel, b / 64);
	EXPECT(evtchn_send(a), 0);
	bits(true, true, false, "sent with the selector set");
	clear();

	/* evtchn_upcall_mask is for PV guests. */
	this_cpu()->vcpu_info->evtchn_upcall_mask = 1;
	EXPECT(evtchn_send(a), 0);
	bits(true, true, true, "sent with evtchn_upcall_mask set");
	this_cpu()->vcpu_info->evtchn_upcall_mask = 0;

	/* And by interrupts. */
	clear();
	evtchn_mask(b);
	u32 n = evtchn_count[b];
	sti();
	EXPECT(evtchn_send(a), 0);
	sleep_ms(5);
	EQUAL(evtchn_count[b], n);
	EXPECT(evtchn_unmask(b), 0);
	CHECK(evtchn_wait(b, n + 1, LONG_MS), "no upcall on unmask");
	for (u32 i = 0; i < 50; i++) {
		evtchn_mask(b);
		EXPECT(evtchn_send(a), 0);
		evtchn_unmask_local(b);
		if (!CHECK(evtchn_wait(b, n + 2 + i, LONG_MS), "round %u: event lost between mask and unmask", i))
			return;
	}
	EQUAL(evtchn_count[b], n + 51);
}
