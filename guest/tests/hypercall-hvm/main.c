// SPDX-License-Identifier: Apache-2.0
// hvm_op: parameters and the upcall vector.
#include "guest.h"

static void parameters(void)
{
	struct xen_hvm_param p = {.domid = DOMID_NONE, .index = HVM_PARAM_CALLBACK_IRQ};
	u64 v = ~0ul;

	EXPECT(hvm_op(HVMOP_get_param, &p), -XEN_ESRCH);
	EXPECT(hvm_op(HVMOP_set_param, &p), -XEN_ESRCH);
	EXPECT(hvm_op(HVMOP_get_param, BAD_POINTER), -XEN_EFAULT);
	EXPECT(hvm_op(HVMOP_set_param, BAD_POINTER), -XEN_EFAULT);
	EXPECT(hvm_get_param(HVM_NR_PARAMS, &v), -XEN_EINVAL);
	EXPECT(hvm_get_param(~0u, &v), -XEN_EINVAL);
	EXPECT(hvm_set_param(HVM_NR_PARAMS, 0), -XEN_EINVAL);
	EXPECT(hvm_set_param(~0u, 0), -XEN_EINVAL);

	/* Unset ones read 0. */
	EXPECT(hvm_get_param(HVM_PARAM_CALLBACK_IRQ, &v), 0);
	EQUAL(v, 0);
	for (u32 i = 0; i < 4; i++) {
		static const u32 index[] = {HVM_PARAM_STORE_PFN, HVM_PARAM_STORE_EVTCHN, HVM_PARAM_CONSOLE_PFN, HVM_PARAM_CONSOLE_EVTCHN};
		v = ~0ul;
		EXPECT(hvm_get_param(index[i], &v), 0);
		printf("param %u = 0x%lx\n", index[i], v);
	}
	/* The toolstack's, not the guest's. */
	EXPECT(hvm_set_param(HVM_PARAM_STORE_PFN, 5), -XEN_EPERM);
	EXPECT(hvm_set_param(HVM_PARAM_CONSOLE_PFN, 5), -XEN_EPERM);
	EXPECT(hvm_get_param(HVM_PARAM_IOREQ_PFN, &v), -XEN_EPERM);
	EXPECT(hvm_set_param(HVM_PARAM_IOREQ_PFN, 5), -XEN_EPERM);
	/* Guests may set these two; put back what was there. */
	EXPECT(hvm_get_param(HVM_PARAM_STORE_EVTCHN, &v), 0);
	EXPECT(hvm_set_param(HVM_PARAM_STORE_EVTCHN, v), 0);
	EXPECT(hvm_get_param(HVM_PARAM_CONSOLE_EVTCHN, &v), 0);
	EXPECT(hvm_set_param(HVM_PARAM_CONSOLE_EVTCHN, v), 0);

	/* The callback: what is written is read, strange types too. */
	u64 vias[] = {1, CALLBACK_VIA_VECTOR | VEC_CALLBACK, 9ul << 56 | 3, 0};
	for (u32 i = 0; i < ARRAY_SIZE(vias); i++) {
		EXPECT(hvm_set_param(HVM_PARAM_CALLBACK_IRQ, vias[i]), 0);
		EXPECT(hvm_get_param(HVM_PARAM_CALLBACK_IRQ, &v), 0);
		EQUAL(v, vias[i]);
	}
}

static void vector(void)
{
	struct xen_hvm_evtchn_upcall_vector u = {.vcpu = 0, .vector = 0xf};

	EXPECT(hvm_op(HVMOP_set_evtchn_upcall_vector, &u), -XEN_EINVAL);
	u.vector = 0;
	EXPECT(hvm_op(HVMOP_set_evtchn_upcall_vector, &u), -XEN_EINVAL);
	u.vector = VEC_UPCALL;
	u.vcpu = MAX_CPUS + 1000;
	EXPECT(hvm_op(HVMOP_set_evtchn_upcall_vector, &u), -XEN_ENOENT);
	EXPECT(hvm_op(HVMOP_set_evtchn_upcall_vector, BAD_POINTER), -XEN_EFAULT);
}

static bool upcalled(void *arg)
{
	(void)arg;
	return this_cpu()->upcalls != 0;
}

void test_main(void)
{
	parameters();
	vector();
	EXPECT(hvm_op(99, NULL), -XEN_ENOSYS);
	/* Setting the vector raises an event at once, with none sent. */
	upcall_start();
	if (upcall_method == UPCALL_VECTOR)
		CHECK(wait_for(upcalled, NULL, LONG_MS), "no upcall after set_evtchn_upcall_vector");
}
