// SPDX-License-Identifier: Apache-2.0
// memory_op: the physmap, the memory map, reservations and their errors.
#include "guest.h"

static u8 page[2][4096] ALIGNED(4096);

static s64 remove_page(u16 dom, u64 gfn)
{
	struct xen_remove_from_physmap r = {.domid = dom, .gpfn = gfn};
	return memory_op(XENMEM_remove_from_physmap, &r);
}

static void physmap(void)
{
	u64 hole = find_hole(4) >> PAGE_SHIFT;
	struct xen_add_to_physmap a = {.domid = DOMID_SELF, .space = XENMAPSPACE_shared_info, .gpfn = (u64)page[0] >> PAGE_SHIFT};

	EXPECT(memory_op(XENMEM_add_to_physmap, &a), 0);
	EXPECT(memory_op(XENMEM_add_to_physmap, BAD_POINTER), -XEN_EFAULT);
	a.idx = 1;
	EXPECT(memory_op(XENMEM_add_to_physmap, &a), -XEN_EINVAL);
	a.idx = ~0ul;
	EXPECT(memory_op(XENMEM_add_to_physmap, &a), -XEN_EINVAL);
	a.idx = 0;
	a.space = 77;
	EXPECT(memory_op(XENMEM_add_to_physmap, &a), -XEN_EINVAL);
	a.space = XENMAPSPACE_grant_table;
	a.idx = 100000;
	EXPECT(memory_op(XENMEM_add_to_physmap, &a), -XEN_EINVAL);
	a.idx = 0;
	a.domid = DOMID_NONE;
	EXPECT(memory_op(XENMEM_add_to_physmap, &a), -XEN_ESRCH);
	if (!CHECK(hole != 0, "the memory map leaves no hole"))
		return;
	/* To a frame without memory, and away from there again. */
	a = (struct xen_add_to_physmap){.domid = DOMID_SELF, .space = XENMAPSPACE_shared_info, .gpfn = hole};
	EXPECT(memory_op(XENMEM_add_to_physmap, &a), 0);
	volatile u32 *word = (void *)(hole << PAGE_SHIFT) + 0xa00;
	*word = 0x12345678;
	EQUAL(*word, 0x12345678);
	EXPECT(remove_page(DOMID_SELF, hole), 0);
	EXPECT(remove_page(DOMID_SELF, hole), -XEN_ENOENT);
	EXPECT(remove_page(DOMID_NONE, hole), -XEN_ESRCH);
	EXPECT(memory_op(XENMEM_remove_from_physmap, BAD_POINTER), -XEN_EFAULT);
	/* Taken away is not destroyed. */
	EXPECT(memory_op(XENMEM_add_to_physmap, &a), 0);
	EQUAL(*word, 0x12345678);
	*word = 0;
}

static void batch(void)
{
	u64 hole = find_hole(4) >> PAGE_SHIFT;
	u64 idxs[3] = {0, 100000, 1}, gfns[3] = {hole + 1, hole + 2, hole + 3};
	u32 errs[3] = {99, 99, 99};
	struct xen_add_to_physmap_batch b = {
		.domid = DOMID_SELF, .space = XENMAPSPACE_grant_table, .size = 3, .idxs = (u64)idxs, .gpfns = (u64)gfns, .errs = (u64)errs,
	};

	EXPECT(memory_op(XENMEM_add_to_physmap_batch, &b), 0);
	EQUAL(errs[0], 0);
	EQUAL((s64)(s32)errs[1], -XEN_EINVAL);
	EQUAL(errs[2], 0);
	b.errs = (u64)BAD_POINTER;
	EXPECT(memory_op(XENMEM_add_to_physmap_batch, &b), -XEN_EFAULT);
	b.errs = (u64)errs;
	b.domid = DOMID_NONE;
	EXPECT(memory_op(XENMEM_add_to_physmap_batch, &b), -XEN_ESRCH);
}

static void map(void)
{
	static struct xen_memory_map_entry e[64];
	struct xen_memory_map m = {ARRAY_SIZE(e), (u64)e};

	EXPECT(memory_op(XENMEM_memory_map, &m), 0);
	u32 n = m.nr_entries;
	CHECK(n > 0 && n <= ARRAY_SIZE(e), "%u entries", n);
	if (start_info.memmap_entries) {
		EQUAL(n, start_info.memmap_entries);
		for (u32 i = 0; i < n; i++)
			CHECK(e[i].addr == memory_map[i].addr && e[i].size == memory_map[i].size && e[i].type == memory_map[i].type,
			      "entry %u differs from start_info's", i);
	}
	if (n > 1) {
		memset(e, 0, sizeof(e));
		m.nr_entries = 1;
		EXPECT(memory_op(XENMEM_memory_map, &m), 0);
		EQUAL(m.nr_entries, 1);
		CHECK(e[0].size != 0 && e[1].size == 0, "one entry asked, sizes 0x%lx 0x%lx", e[0].size, e[1].size);
	}
	m = (struct xen_memory_map){ARRAY_SIZE(e), (u64)BAD_POINTER};
	EXPECT(memory_op(XENMEM_memory_map, &m), -XEN_EFAULT);
	EXPECT(memory_op(XENMEM_memory_map, BAD_POINTER), -XEN_EFAULT);
}

static void reservation(void)
{
	u64 gfn = (u64)page[1] >> PAGE_SHIFT;
	u16 self = DOMID_SELF, none = DOMID_NONE;
	struct xen_memory_reservation r = {.extent_start = (u64)&gfn, .nr_extents = 1, .domid = DOMID_SELF};

	s64 now = memory_op(XENMEM_current_reservation, &self);
	CHECK(now >= 4096, "current_reservation %ld pages", now); /* 16 MiB */
	s64 max = memory_op(XENMEM_maximum_reservation, &self);
	CHECK(max >= now, "maximum_reservation %ld, current %ld", max, now);
	s64 top = memory_op(XENMEM_maximum_gpfn, &self);
	CHECK(top >= (s64)gfn, "maximum_gpfn 0x%lx", top);
	EXPECT(memory_op(XENMEM_current_reservation, &none), -XEN_ESRCH);
	EXPECT(memory_op(XENMEM_current_reservation, BAD_POINTER), -XEN_EFAULT);

	/* A page given back and asked for again is usable; what it holds then is
	 * not promised. */
	EXPECT(memory_op(XENMEM_decrease_reservation, &r), 1);
	EXPECT(memory_op(XENMEM_current_reservation, &self), now - 1);
	EXPECT(memory_op(XENMEM_populate_physmap, &r), 1);
	EXPECT(memory_op(XENMEM_current_reservation, &self), now);
	volatile u64 *p = (void *)page[1];
	*p = 0x77;
	EQUAL(*p, 0x77);
	r.extent_start = (u64)BAD_POINTER;
	EXPECT(memory_op(XENMEM_populate_physmap, &r), 0);
	r.domid = DOMID_NONE;
	EXPECT(memory_op(XENMEM_populate_physmap, &r), 0);
}

void test_main(void)
{
	physmap();
	batch();
	map();
	reservation();
	EXPECT(memory_op(63, page[0]), -XEN_ENOSYS);
}
