// SPDX-License-Identifier: Apache-2.0
// The PVH start state, start_info, memory map, command line and ACPI tables.
#include "guest.h"

static void registers(void)
{
	struct entry_state *e = &entry_state;

	EQUAL(e->cr0 & ~CR0_ET, CR0_PE);
	EQUAL(e->cr4, 0);
	EQUAL(e->efer & (EFER_LME | EFER_LMA), 0);
	/* Bit 1 is always set; IF, VM and TF must be clear. */
	EQUAL(e->eflags & 0x20302, 2);
	CHECK(e->ebx != 0, "ebx is 0 at entry");
}

static void info(void)
{
	EQUAL(start_info.magic, START_MAGIC);
	EQUAL(start_info.version, 1);
	CHECK(start_info.cmdline != 0, "no command line");
	CHECK(start_info.memmap != 0 && start_info.memmap_entries > 0, "no memory map");
	if (start_info.nr_modules)
		CHECK(start_info.modlist != 0, "%u modules, no list", start_info.nr_modules);
}

static void map(void)
{
	u64 ram = 0;

	for (u32 i = 0; i < memory_map_entries; i++) {
		struct start_map *a = &memory_map[i];
		printf("map 0x%012lx 0x%012lx type %u\n", a->addr, a->size, a->type);
		CHECK(a->size && a->addr + a->size > a->addr, "map entry %u is empty or wraps", i);
		CHECK(a->type >= 1 && a->type <= 7, "map entry %u has type %u", i, a->type);
		if (a->type == MAP_RAM) {
			ram += a->size;
			CHECK(!(a->addr < 0xfee01000 && a->addr + a->size > 0xfee00000), "RAM over the local APIC");
		}
		for (u32 j = 0; j < i; j++)
			CHECK(a->addr >= memory_map[j].addr + memory_map[j].size || memory_map[j].addr >= a->addr + a->size,
			      "map entries %u and %u overlap", j, i);
	}
	CHECK(is_ram((u64)_image_start, _image_end - _image_start), "this image is not in RAM");
	/* mem= in MiB, as the host was asked; it may keep a little for itself. */
	u64 want = arg_number("mem", 0) << 20;
	if (want)
		CHECK(ram <= want && ram + (2 << 20) >= want, "RAM 0x%lx of 0x%lx", ram, want);
}

static void tables(void)
{
	u32 want = arg_number("cpus", 0);

	CHECK(acpi_problem == NULL, "ACPI: %s", acpi_problem);
	CHECK(acpi_ioapics <= 1 || acpi_problem, "%u IOAPICs", acpi_ioapics);
	if (want) {
		EQUAL(acpi_cpus, want);
		for (u32 i = 0; i < want; i++)
			CHECK(acpi_lists(i), "no processor with ACPI id %u", i);
	}
	for (u32 i = 0; i < cpus; i++)
		for (u32 j = 0; j < i; j++)
			CHECK(acpi_apic_id(i) != acpi_apic_id(j), "processors %u and %u share APIC id %u", j, i, acpi_apic_id(i));
	EQUAL(apic_id(), acpi_apic_id(0));
}

/* Memory at the ends of each RAM range keeps what is written. */
static void memory(void)
{
	for (u32 i = 0; i < memory_map_entries; i++) {
		struct start_map *m = &memory_map[i];
		u64 last = (m->addr + m->size - 8) & ~7ul;
		if (m->type != MAP_RAM || last >= 8ul << 30)
			continue;
		volatile u64 *p = (void *)last;
		u64 old = *p;
		*p = 0x1122334455667788 ^ last;
		CHECK(*p == (0x1122334455667788 ^ last), "RAM at 0x%lx keeps nothing", last);
		*p = old;
	}
}

void test_main(void)
{
	char word[32];

	registers();
	info();
	map();
	tables();
	memory();
	if (arg_text("token", word, sizeof(word)))
		printf("TOKEN %s\n", word);
}
