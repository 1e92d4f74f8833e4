// SPDX-License-Identifier: Apache-2.0
// grant_table_op: version, size, set-up, frames by the physmap.
#include "guest.h"

static u8 ram[4096] ALIGNED(4096);

static void operations(void)
{
	u32 v = 1;
	struct gnttab_get_version g = {.dom = DOMID_SELF};
	struct gnttab_query_size q;

	EXPECT(grant_set_version(&v), 0);
	EQUAL(v, 1);
	v = 3;
	EXPECT(grant_set_version(&v), -XEN_EINVAL);
	EXPECT(grant_op(GNTTABOP_set_version, BAD_POINTER, 1), -XEN_EFAULT);
	EXPECT(grant_op(GNTTABOP_get_version, &g, 1), 0);
	EQUAL(g.version, 1);
	g.dom = DOMID_NONE;
	EXPECT(grant_op(GNTTABOP_get_version, &g, 1), -XEN_ESRCH);

	EXPECT(grant_query(DOMID_SELF, &q), 0);
	EQUAL(q.status, GNTST_okay);
	CHECK(q.nr_frames <= q.max_nr_frames && q.max_nr_frames >= 4, "%u of %u frames", q.nr_frames, q.max_nr_frames);
	printf("%u of %u frames\n", q.nr_frames, q.max_nr_frames);
	EXPECT(grant_query(DOMID_NONE, &q), 0);
	EQUAL((s64)q.status, GNTST_bad_domain);
	EXPECT(grant_op(GNTTABOP_query_size, &q, 2), -XEN_EINVAL);
	EXPECT(grant_op(GNTTABOP_query_size, BAD_POINTER, 1), -XEN_EFAULT);

	u64 frames[2] = {0};
	struct gnttab_setup_table s = {.dom = DOMID_SELF, .nr_frames = 1, .frame_list = (u64)frames};
	EXPECT(grant_op(GNTTABOP_setup_table, &s, 1), 0);
	EQUAL((s64)s.status, GNTST_okay);
	s.nr_frames = 100000;
	EXPECT(grant_op(GNTTABOP_setup_table, &s, 1), 0);
	EQUAL((s64)s.status, GNTST_general_error);
	s.dom = DOMID_NONE;
	s.nr_frames = 1;
	EXPECT(grant_op(GNTTABOP_setup_table, &s, 1), 0);
	EQUAL((s64)s.status, GNTST_bad_domain);
	EXPECT(grant_op(GNTTABOP_setup_table, &s, 2), -XEN_EINVAL);
	EXPECT(grant_op(99, &s, 1), -XEN_ENOSYS);
}

static void frames(void)
{
	struct gnttab_query_size q;
	u64 hole = find_hole(4), store = 0, console = 0;
	volatile struct grant_entry_v1 *e = (void *)ram;

	/* Highest first, as Linux does: the table grows by it. */
	EXPECT(grant_map_frame(3, (hole >> PAGE_SHIFT) + 3), 0);
	EXPECT(grant_query(DOMID_SELF, &q), 0);
	CHECK(q.nr_frames >= 4, "%u frames after mapping frame 3", q.nr_frames);
	EXPECT(grant_map_frame(0, (u64)ram >> PAGE_SHIFT), 0);

	hvm_get_param(HVM_PARAM_CONSOLE_PFN, &console);
	hvm_get_param(HVM_PARAM_STORE_PFN, &store);
	if (console) {
		CHECK((e[0].flags & 3) == GTF_permit_access, "grant 0 (console) has flags 0x%x", e[0].flags);
		EQUAL(e[0].frame, console);
	}
	if (store && store != ~0ul) {
		CHECK((e[1].flags & 3) == GTF_permit_access, "grant 1 (xenstore) has flags 0x%x", e[1].flags);
		EQUAL(e[1].frame, store);
	}
	CHECK(e[8].flags == 0, "grant 8 is in use: 0x%x", e[8].flags);

	/* An entry stays what it is when its frame moves. */
	e[8].domid = 0;
	e[8].frame = 0x1234;
	barrier();
	e[8].flags = GTF_permit_access;
	EXPECT(grant_map_frame(0, hole >> PAGE_SHIFT), 0);
	e = (void *)hole;
	CHECK(e[8].flags == GTF_permit_access && e[8].frame == 0x1234, "the entry is lost: flags 0x%x frame 0x%x", e[8].flags, e[8].frame);
	e[8].flags = 0;
	EXPECT(grant_map_frame(q.max_nr_frames, hole >> PAGE_SHIFT), -XEN_EINVAL);
	volatile struct grant_entry_v1 *last = (void *)(hole + 3 * PAGE_SIZE);
	last[GRANTS_PER_FRAME - 1].frame = 7;
	EQUAL(last[GRANTS_PER_FRAME - 1].frame, 7);
	last[GRANTS_PER_FRAME - 1].frame = 0;
}

void test_main(void)
{
	operations();
	frames();
}
