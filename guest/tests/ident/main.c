// SPDX-License-Identifier: Apache-2.0
// Xen's CPUID leaves, on every CPU, and the hypercall page.
#include "guest.h"

static void leaves(void)
{
	struct cpuid c = xen_leaf(0, 0);
	u32 max = c.eax - xen_base;

	printf("base 0x%x, leaves to +%u, version 0x%x, features 0x%x\n", xen_base, max, xen_leaf(1, 0).eax, xen_leaf(4, 0).eax);
	CHECK(xen_base == 0x40000000 || xen_base == 0x40000100, "base 0x%x", xen_base);
	CHECK(max >= 4 && max <= 5, "leaves to +%u", max);
	/* Bit 31 of leaf 1 ECX: running on a hypervisor. */
	CHECK(cpuid(1, 0).ecx >> 31, "CPUID 1 shows no hypervisor");
	c = xen_leaf(1, 0);
	CHECK(c.eax >> 16 == 4, "version 0x%x", c.eax);
	c = xen_leaf(2, 0);
	EQUAL(c.eax, 1);
	CHECK(c.ebx == 0x40000000 || c.ebx == 0x40000200, "hypercall MSR 0x%x", c.ebx);
	c = xen_leaf(3, 0);
	CHECK(c.ecx > 100000 && c.ecx < 10000000, "TSC at %u kHz", c.ecx);
	CHECK(c.ebx <= 3, "TSC mode %u", c.ebx);
	c = xen_leaf(3, 1);
	CHECK(c.ecx != 0, "no TSC to ns multiplier");
	c = xen_leaf(4, 0);
	CHECK(c.eax >> 3 & 1, "no VCPU_ID_PRESENT");
}

static void page(void)
{
	/* Every stub but iret's begins with mov eax, its number; they lie 32
	 * bytes apart. What comes next is the hypervisor's business. */
	for (u32 i = 0; i < 64; i++) {
		u8 *s = hypercall_page + 32 * i;
		if (i == HYPERCALL_iret) {
			CHECK(s[0] == 0x0f && s[1] == 0x0b, "slot iret is %02x %02x, want ud2", s[0], s[1]);
			continue;
		}
		u32 n = s[1] | s[2] << 8 | s[3] << 16 | (u32)s[4] << 24;
		CHECK(s[0] == 0xb8 && n == i, "slot %u: %02x number %u", i, s[0], n);
	}
}

static void call_iret(void *arg)
{
	(void)arg;
	hypercall2(HYPERCALL_iret, 0, 0);
}

static void write_bad_msr(void *value) { wrmsr(xen_leaf(2, 0).ebx, (u64)value); }

/* A second page: same contents, and the first one keeps working. */
static u8 other[4096] ALIGNED(4096);

static void msr(void)
{
	EQUAL(catch_trap(call_iret, NULL), 6);
	/* A page number other than 0 and an address without memory: #GP. */
	EQUAL(catch_trap(write_bad_msr, (void *)((u64)other | 1)), 13);
	EQUAL(catch_trap(write_bad_msr, (void *)0xfffffffff000ul), 13);
	wrmsr(xen_leaf(2, 0).ebx, (u64)other);
	barrier();
	CHECK(!memcmp(other, hypercall_page, sizeof(other)), "a second hypercall page differs");
	u64 args[6] = {XENVER_pagesize};
	EQUAL(call_page(other + 32 * HYPERCALL_xen_version, 0, args), 4096);
	EQUAL(xen_version(XENVER_pagesize, NULL), 4096);
}

static u32 ids[MAX_CPUS], domids[MAX_CPUS], apics[MAX_CPUS], leaf1[MAX_CPUS];

static void identify(void *arg)
{
	u32 i = this_cpu()->id;
	(void)arg;
	ids[i] = xen_leaf(4, 0).ebx;
	domids[i] = xen_leaf(4, 0).ecx;
	apics[i] = apic_id();
	leaf1[i] = cpuid(1, 0).ebx >> 24;
}

static void each_cpu(void)
{
	smp_start();
	smp_all(identify, NULL);
	for (u32 i = 0; i < cpus; i++) {
		CHECK(ids[i] == i, "vCPU %u: CPUID says id %u", i, ids[i]);
		CHECK(domids[i] == domids[0], "vCPU %u: domid %u", i, domids[i]);
		CHECK(apics[i] == acpi_apic_id(i), "vCPU %u: APIC id %u, MADT %u", i, apics[i], acpi_apic_id(i));
		CHECK(leaf1[i] == (apics[i] & 0xff), "vCPU %u: CPUID 1 APIC id %u, APIC %u", i, leaf1[i], apics[i]);
	}
}

void test_main(void)
{
	leaves();
	page();
	msr();
	each_cpu();
}
