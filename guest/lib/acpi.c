// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

struct rsdp {
	char signature[8];
	u8 checksum;
	char oem[6];
	u8 revision;
	u32 rsdt, length;
	u64 xsdt;
	u8 extended_checksum, reserved[3];
} PACKED;
struct table {
	char signature[4];
	u32 length;
	u8 revision, checksum;
	char oem[6], oem_table[8];
	u32 oem_revision, creator, creator_revision;
} PACKED;

const char *acpi_problem = "not looked at";
u32 acpi_tables, acpi_cpus, acpi_ioapics, acpi_ioapic_address;
static u32 apic_ids[MAX_CPUS];
static bool listed[MAX_CPUS];

static bool sums_to_zero(const void *p, u32 n)
{
	const u8 *b = p;
	u8 sum = 0;
	while (n--)
		sum += *b++;
	return !sum;
}

static void processor(u32 acpi_id, u32 apic, u32 flags)
{
	if (!(flags & 1))
		return;
	acpi_cpus++;
	if (acpi_id < MAX_CPUS) {
		apic_ids[acpi_id] = apic;
		listed[acpi_id] = true;
	}
}

static void madt(const u8 *p, const u8 *end)
{
	p += sizeof(struct table) + 8;
	while (p + 2 <= end && p[1] >= 2 && p + p[1] <= end) {
		switch (p[0]) {
		case 0:
			processor(p[2], p[3], *(const u32 *)(p + 4));
			break;
		case 1:
			acpi_ioapics++;
			acpi_ioapic_address = *(const u32 *)(p + 4);
			break;
		case 9:
			processor(*(const u32 *)(p + 12), *(const u32 *)(p + 4), *(const u32 *)(p + 8));
			break;
		}
		p += p[1];
	}
	if (p != end)
		acpi_problem = "MADT entries do not fill the table";
}

static const char *parse(void)
{
	const struct rsdp *r = (void *)start_info.rsdp;
	if (!r)
		return "no RSDP";
	if (memcmp(r->signature, "RSD PTR ", 8) || !sums_to_zero(r, 20))
		return "RSDP signature or checksum";
	/* XSDT with 8-byte pointers, or the RSDT of an old table set. */
	bool wide = r->revision >= 2 && r->xsdt;
	if (wide && !sums_to_zero(r, 36))
		return "RSDP extended checksum";
	const struct table *root = (void *)(wide ? r->xsdt : (u64)r->rsdt);
	if (memcmp(root->signature, wide ? "XSDT" : "RSDT", 4) || root->length > 0x1000 || !sums_to_zero(root, root->length))
		return "root table signature or checksum";
	const struct table *found = NULL;
	for (const u8 *p = (void *)(root + 1), *end = (const u8 *)root + root->length; p < end; p += wide ? 8 : 4) {
		const struct table *t = (void *)(wide ? *(const u64 *)p : (u64) * (const u32 *)p);
		if (t->length > 0x100000 || !sums_to_zero(t, t->length))
			return "checksum of a table";
		acpi_tables++;
		if (!memcmp(t->signature, "APIC", 4))
			found = t;
	}
	if (!found)
		return "no MADT";
	acpi_problem = NULL;
	madt((const u8 *)found, (const u8 *)found + found->length);
	return acpi_problem;
}

u32 acpi_parse(void)
{
	for (u32 i = 0; i < MAX_CPUS; i++)
		apic_ids[i] = xen_base ? 2 * i : i; /* without tables: Xen numbers them so */
	acpi_problem = parse();
	return acpi_cpus;
}

u32 acpi_apic_id(u32 processor) { return apic_ids[processor]; }
bool acpi_lists(u32 processor) { return processor < MAX_CPUS && listed[processor]; }
