// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

u8 hypercall_page[4096] ALIGNED(4096);
bool hypercall_ready;
u32 xen_base;

bool xen_detect(void)
{
	for (u32 base = 0x40000000; base <= 0x4000ff00; base += 0x100) {
		struct cpuid c = cpuid(base, 0);
		if (c.ebx == 0x566e6558 && c.ecx == 0x65584d4d && c.edx == 0x4d4d566e && c.eax >= base + 2 && c.eax < base + 0x100) {
			xen_base = base;
			return true;
		}
	}
	return false;
}

void hypercall_init(void)
{
	struct cpuid c = xen_leaf(2, 0);
	wrmsr(c.ebx, (u64)hypercall_page);
	barrier();
	hypercall_ready = true;
}

struct cpuid xen_leaf(u32 n, u32 sub) { return cpuid(xen_base + n, sub); }

u16 own_domid(void)
{
	if (xen_leaf(0, 0).eax < xen_base + 4 || !(xen_leaf(4, 0).eax >> 4 & 1))
		return DOMID_SELF;
	return xen_leaf(4, 0).ecx;
}

s64 hvm_set_param(u32 index, u64 value)
{
	struct xen_hvm_param p = {.domid = DOMID_SELF, .index = index, .value = value};
	return hvm_op(HVMOP_set_param, &p);
}

s64 hvm_get_param(u32 index, u64 *value)
{
	struct xen_hvm_param p = {.domid = DOMID_SELF, .index = index, .value = 0};
	s64 rc = hvm_op(HVMOP_get_param, &p);
	*value = p.value;
	return rc;
}

s64 add_to_physmap(u32 space, u64 idx, u64 gfn)
{
	struct xen_add_to_physmap a = {.domid = DOMID_SELF, .space = space, .idx = idx, .gpfn = gfn};
	return memory_op(XENMEM_add_to_physmap, &a);
}
