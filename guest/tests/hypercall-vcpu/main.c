// SPDX-License-Identifier: Apache-2.0
// vcpu_op: life cycle, runstate, timers, vcpu_info registration, NMI.
//   realxen=1  expect what Xen 4.17 itself answers where it differs
#include "guest.h"

#define NOBODY (MAX_CPUS + 1000)

static volatile u32 nmis;
static void on_nmi(struct frame *f)
{
	(void)f;
	nmis++;
}

static void ids(void)
{
	u64 area = 0;
	for (u32 cmd = VCPUOP_initialise; cmd <= VCPUOP_send_nmi; cmd++)
		check_rc(__LINE__, "an operation on no vCPU", vcpu_op(cmd, NOBODY, BAD_POINTER), -XEN_ENOENT);
	EXPECT(vcpu_op(VCPUOP_is_up, ~0u, NULL), -XEN_ENOENT);
	EXPECT(vcpu_op(99, 0, &area), -XEN_ENOSYS);
}

static void life(void)
{
	EXPECT(vcpu_op(VCPUOP_is_up, 0, NULL), 1);
	EXPECT(smp_initialise(0), -XEN_EEXIST);
	EXPECT(vcpu_op(VCPUOP_initialise, 0, BAD_POINTER), -XEN_EFAULT);
	EXPECT(vcpu_op(VCPUOP_up, 0, NULL), 0);
	if (cpus < 2)
		return;
	EXPECT(vcpu_op(VCPUOP_is_up, 1, NULL), 0);
	EXPECT(vcpu_op(VCPUOP_up, 1, NULL), -XEN_EINVAL);
	struct vcpu_hvm_context bad;
	memset(&bad, 0, sizeof(bad));
	bad.mode = 7;
	EXPECT(vcpu_op(VCPUOP_initialise, 1, &bad), -XEN_EINVAL);
	bad.mode = VCPU_HVM_MODE_64B; /* 64-bit mode without paging */
	EXPECT(vcpu_op(VCPUOP_initialise, 1, &bad), -XEN_EINVAL);
	EXPECT(smp_initialise(1), 0);
	EXPECT(smp_initialise(1), -XEN_EEXIST);
	EXPECT(vcpu_op(VCPUOP_is_up, 1, NULL), 0);
	if (!smp_start_one(1))
		fatal("vCPU 1 did not come up");
	EXPECT(vcpu_op(VCPUOP_is_up, 1, NULL), 1);
	/* Down: it keeps its place, and goes on from there. */
	EXPECT(vcpu_op(VCPUOP_down, 1, NULL), 0);
	EXPECT(vcpu_op(VCPUOP_is_up, 1, NULL), 0);
	EXPECT(vcpu_op(VCPUOP_up, 1, NULL), 0);
	EXPECT(vcpu_op(VCPUOP_is_up, 1, NULL), 1);
}

static volatile u32 worked;
static void work(void *arg) { worked += (u64)arg; }

static void runstate(void)
{
	struct runstate_info r;

	memset(&r, 0xff, sizeof(r));
	EXPECT(vcpu_op(VCPUOP_get_runstate_info, 0, &r), 0);
	EQUAL(r.state, RUNSTATE_running);
	EXPECT(vcpu_op(VCPUOP_get_runstate_info, 0, BAD_POINTER), -XEN_EFAULT);
	EXPECT(vcpu_op(VCPUOP_register_runstate_memory_area, 0, BAD_POINTER), -XEN_EFAULT);
}

static void timers(void)
{
	struct vcpu_set_singleshot_timer s = {1, 0};
	u64 period = 999999;

	EXPECT(vcpu_op(VCPUOP_set_periodic_timer, 0, &period), -XEN_EINVAL);
	period = ~0ul;
	EXPECT(vcpu_op(VCPUOP_set_periodic_timer, 0, &period), -XEN_EINVAL);
	EXPECT(vcpu_op(VCPUOP_set_periodic_timer, 0, BAD_POINTER), -XEN_EFAULT);
	period = 100000000;
	EXPECT(vcpu_op(VCPUOP_set_periodic_timer, 0, &period), 0);
	EXPECT(vcpu_op(VCPUOP_stop_periodic_timer, 0, NULL), 0);
	EXPECT(vcpu_op(VCPUOP_stop_periodic_timer, 0, NULL), 0);
	EXPECT(vcpu_op(VCPUOP_stop_singleshot_timer, 0, NULL), 0);
	EXPECT(vcpu_op(VCPUOP_set_singleshot_timer, 0, BAD_POINTER), -XEN_EFAULT);
	/* A deadline in the past fires now; the flag that would refuse it is
	 * ignored. */
	EXPECT(vcpu_op(VCPUOP_set_singleshot_timer, 0, &s), 0);
	if (!arg_number("realxen", 0)) {
		s.flags = VCPU_SSHOTTMR_future;
		EXPECT(vcpu_op(VCPUOP_set_singleshot_timer, 0, &s), 0);
	}
	if (cpus > 1) {
		EXPECT(vcpu_op(VCPUOP_set_singleshot_timer, 1, &s), -XEN_EINVAL);
		EXPECT(vcpu_op(VCPUOP_stop_singleshot_timer, 1, NULL), -XEN_EINVAL);
	}
	EXPECT(hypercall2(HYPERCALL_set_timer_op, 0, 0), 0);
	EXPECT(hypercall2(HYPERCALL_set_timer_op, ~0ul, 0), 0); /* negative: some time soon */
	EXPECT(hypercall2(HYPERCALL_set_timer_op, 0, 0), 0);
}

static void vcpu_info(void)
{
	bool old = arg_number("realxen", 0);
	u64 addr = (u64)vcpu_info_ram(0);
	struct vcpu_info *v = vcpu_info_ram(0);

	EXPECT(register_vcpu_info(0, (addr & ~0xffful) + 0xfc8), -XEN_ENXIO); /* crosses the page */
	if (!old)
		EXPECT(register_vcpu_info(0, addr + 4), -XEN_ENXIO);
	EXPECT(vcpu_op(VCPUOP_register_vcpu_info, 0, BAD_POINTER), -XEN_EFAULT);
	EXPECT(register_vcpu_info(0, find_hole(4)), -XEN_EINVAL); /* no memory there */
	/* An event recorded before the move must not be lost by it. */
	u32 port = evtchn_bind_ipi(0);
	locked_btr(shared_info->evtchn_mask, port);
	EXPECT(evtchn_send(port), 0);
	EXPECT(register_vcpu_info(0, addr), 0);
	CHECK(READ_ONCE(v->evtchn_upcall_pending), "upcall_pending is 0 after registration");
	CHECK(READ_ONCE(v->evtchn_pending_sel) >> (port / 64) & 1, "selector bit lost by registration");
	EXPECT(register_vcpu_info(0, addr), old ? -XEN_EINVAL : -XEN_EBUSY);
	evtchn_clear(port);
	EXPECT(evtchn_close(port), 0);
}

static void nmi(void)
{
	trap_handler(2, on_nmi);
	u32 before = nmis;
	EXPECT(vcpu_op(VCPUOP_send_nmi, 0, &before), -XEN_EINVAL);
	EXPECT(vcpu_op(VCPUOP_send_nmi, 0, NULL), 0);
	/* Taken by the time any later hypercall has returned. */
	xen_version(XENVER_version, NULL);
	EQUAL(nmis, before + 1);
}

void test_main(void)
{
	shared_info_init();
	ids();
	life();
	runstate();
	timers();
	vcpu_info();
	nmi();
	if (cpus > 1) {
		smp_call(1, work, (void *)3);
		EQUAL(worked, 3);
	}
}
