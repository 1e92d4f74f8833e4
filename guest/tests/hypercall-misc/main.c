// SPDX-License-Identifier: Apache-2.0
// The calling convention and the small calls: console_io, multicall, vm_assist,
// physdev_op, unknown numbers, pointers across pages, ring 3, 32-bit code.
//   compat=0  leave out calls from a 32-bit code segment
//   realxen=1  expect what Xen 4.17 itself answers where it differs
#include "guest.h"

static void console(void)
{
	char text[] = "console_io\n";

	EXPECT(hypercall3(HYPERCALL_console_io, CONSOLEIO_write, sizeof(text) - 1, (u64)text), 0);
	EXPECT(hypercall3(HYPERCALL_console_io, CONSOLEIO_write, 0, (u64)text), 0);
	EXPECT(hypercall3(HYPERCALL_console_io, CONSOLEIO_write, 5, (u64)BAD_POINTER), -XEN_EFAULT);
	EXPECT(hypercall3(HYPERCALL_console_io, 99, 1, (u64)text), -XEN_ENOSYS);
}

static void multicall(void)
{
	struct multicall_entry m[3] = {
		{.op = HYPERCALL_xen_version, .args = {XENVER_pagesize}},
		{.op = 63},
		{.op = HYPERCALL_xen_version, .args = {XENVER_version}},
	};

	EXPECT(hypercall2(HYPERCALL_multicall, (u64)m, 3), 0);
	EQUAL(m[0].result, 4096);
	EQUAL(m[1].result, -XEN_ENOSYS);
	EQUAL(m[2].result, xen_version(XENVER_version, NULL));
	EXPECT(hypercall2(HYPERCALL_multicall, (u64)m, 0), 0);
	EXPECT(hypercall2(HYPERCALL_multicall, (u64)BAD_POINTER, 1), -XEN_EFAULT);
	m[0] = (struct multicall_entry){.op = HYPERCALL_multicall, .args = {(u64)&m[2], 1}};
	EXPECT(hypercall2(HYPERCALL_multicall, (u64)m, 1), 0);
	EQUAL(m[0].result, -XEN_EINVAL); /* not inside itself */
}

static void small(void)
{
	struct {
		u32 a, b;
	} p = {1, 0};

	EXPECT(vm_assist(VMASST_CMD_enable, VMASST_TYPE_runstate_update_flag), 0);
	EXPECT(vm_assist(VMASST_CMD_disable, VMASST_TYPE_runstate_update_flag), 0);
	EXPECT(vm_assist(VMASST_CMD_enable, 31), -XEN_EINVAL);
	EXPECT(vm_assist(VMASST_CMD_enable, 64), -XEN_EINVAL);
	EXPECT(vm_assist(2, VMASST_TYPE_runstate_update_flag), -XEN_ENOSYS);
	struct xen_feature_info f = {0, 0};
	xen_version(XENVER_get_features, &f);
	if (!(f.submap >> 10 & 1)) { /* no PIRQs */
		EXPECT(physdev_op(PHYSDEVOP_eoi, &p), -XEN_ENOSYS);
		EXPECT(physdev_op(PHYSDEVOP_irq_status_query, &p), -XEN_ENOSYS);
		EXPECT(physdev_op(PHYSDEVOP_get_free_pirq, &p), -XEN_ENOSYS);
	}
	EXPECT(physdev_op(99, &p), -XEN_ENOSYS);
}

/* Numbers that no HVM guest has. The full register counts, so that high bits do
 * not make a known number of it. */
static void unknown(void)
{
	static const u64 numbers[] = {0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 14, 16, 19, 22, 25, 28, 30, 31, 38, 43, 47, 56, 63, 64, 127, 128, 255,
				      0x7fffffff, 0x80000000, 0xffffffff, 0x100000011, ~0ul, 1ul << 63 | 17};
	u64 args[6] = {XENVER_pagesize, 0, 0, 0, 0, 0};

	for (u32 i = 0; i < ARRAY_SIZE(numbers); i++) {
		s64 rc = call_page(hypercall_page + STUB_AFTER_MOV, numbers[i], args);
		CHECK(rc == -XEN_ENOSYS, "hypercall 0x%lx: %s", numbers[i], errno_name(rc));
	}
	EQUAL(call_page(hypercall_page + STUB_AFTER_MOV, HYPERCALL_xen_version, args), 4096);
}

static u8 left[4096] ALIGNED(4096), right[4096] ALIGNED(4096);

static void pointers(void)
{
	/* Three pages in a row: left, right (in another order than in memory), none. */
	window_map(SLOT_TEST, (u64)right, PTE_RW);
	window_map(SLOT_TEST + 1, (u64)left, PTE_RW);
	window_map(SLOT_TEST + 2, 0, 0);
	u8 *w = WINDOW(SLOT_TEST);
	struct evtchn_status *s;

	/* Across a page boundary, every split of the structure. */
	for (u32 k = 4; k < sizeof(*s); k += 4) {
		s = (void *)(w + PAGE_SIZE - k);
		memset(s, 0, sizeof(*s));
		s->dom = DOMID_SELF;
		s->status = 77;
		s64 rc = evtchn_op(EVTCHNOP_status, s);
		CHECK(rc == 0 && s->status == EVTCHNSTAT_closed, "status over a page boundary at %u: %s, state %u", k, errno_name(rc), s->status);
		s = (void *)(w + 2 * PAGE_SIZE - k);
		rc = evtchn_op(EVTCHNOP_status, s);
		CHECK(rc == -XEN_EFAULT, "status into an absent page at %u: %s", k, errno_name(rc));
	}
	/* Text over the boundary. */
	memset(w + PAGE_SIZE - 10, 'x', 20);
	w[PAGE_SIZE + 9] = '\n';
	EXPECT(hypercall3(HYPERCALL_console_io, CONSOLEIO_write, 20, (u64)w + PAGE_SIZE - 10), 0);

	/* Read-only: can be read, an answer cannot be written (CR0.WP is set). */
	window_map(SLOT_TEST, (u64)right, PTE_PRESENT | PTE_USER);
	struct xen_feature_info *f = (void *)w;
	memset(right, 0, 16);
	EXPECT(xen_version(XENVER_get_features, f), -XEN_EFAULT);
	EQUAL(f->submap, 0);
	window_map(SLOT_TEST, (u64)right, PTE_RW);
	EXPECT(xen_version(XENVER_get_features, f), 0);
	CHECK(f->submap != 0, "features 0 through a window page");

	EXPECT(xen_version(XENVER_get_features, BAD_POINTER), -XEN_EFAULT);
	if (!arg_number("realxen", 0))
		EXPECT(xen_version(XENVER_get_features, NONCANONICAL), -XEN_EFAULT);
	EXPECT(xen_version(XENVER_get_features, (void *)~0ul), -XEN_EFAULT);
	EXPECT(xen_version(XENVER_get_features, (void *)(~0ul - 3)), -XEN_EFAULT);
}

static u64 from_ring3(void *arg)
{
	u64 args[6] = {XENVER_pagesize};
	(void)arg;
	return call_page(hypercall_page + 32 * HYPERCALL_xen_version, 0, args);
}

static void ring3(void)
{
	/* A hypercall page may use an OUT: let ring 3 do it, so that it is the
	 * hypervisor that refuses. */
	memset(this_cpu()->tss.io_bitmap, 0, 32);
	u64 rc = user_call(from_ring3, NULL);
	memset(this_cpu()->tss.io_bitmap, 0xff, 32);
	EXPECT(rc, -XEN_EPERM);
	EQUAL(from_ring3(NULL), 4096);
}

static void compat(void)
{
	static struct {
		u32 idx, submap;
	} f;
	static struct { /* 32-bit form of add_to_physmap: 16 bytes */
		u16 domid, size;
		u32 space, idx, gpfn;
	} a;
	u32 args[5] = {XENVER_pagesize};
	u32 entry = (u64)hypercall_page;
	u64 flags = irq_save();

	EQUAL(call_page32(entry + 32 * HYPERCALL_xen_version, 0, args), 4096);
	args[0] = XENVER_get_features;
	args[1] = (u64)&f;
	EQUAL((u32)call_page32(entry + 32 * HYPERCALL_xen_version, 0, args), 0);
	CHECK(f.submap != 0, "no features from 32-bit code");
	/* An error is 32 bits wide. */
	f.idx = 1;
	EQUAL(call_page32(entry + 32 * HYPERCALL_xen_version, 0, args), (u32)-XEN_EINVAL);
	EQUAL(call_page32(entry + 32 * 63, 0, args), (u32)-XEN_ENOSYS);
	a.domid = DOMID_SELF;
	a.gpfn = shared_info_ram_gfn(1);
	args[0] = XENMEM_add_to_physmap;
	args[1] = (u64)&a;
	EQUAL((u32)call_page32(entry + 32 * HYPERCALL_memory_op, 0, args), 0);
	a.idx = 3;
	EQUAL(call_page32(entry + 32 * HYPERCALL_memory_op, 0, args), (u32)-XEN_EINVAL);
	irq_restore(flags);
}

void test_main(void)
{
	console();
	multicall();
	small();
	unknown();
	pointers();
	ring3();
	if (arg_number("compat", 1))
		compat();
}
