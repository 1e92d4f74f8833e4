// SPDX-License-Identifier: Apache-2.0
// RSDP -> XSDT -> MADT: which CPUs there are.
#pragma once
#include "types.h"

/* How many enabled processors the MADT lists; 0 without tables. */
u32 acpi_parse(void);
/* The APIC id of the processor with this ACPI id; a guess when no table says. */
u32 acpi_apic_id(u32 processor);

/* Why the tables cannot be used; NULL when they can. */
extern const char *acpi_problem;
extern u32 acpi_tables, acpi_cpus, acpi_ioapics, acpi_ioapic_address;
bool acpi_lists(u32 processor);
