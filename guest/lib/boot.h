// SPDX-License-Identifier: Apache-2.0
// What the PVH loader handed over, copied before anything can overwrite it.
#pragma once
#include "types.h"

#define START_MAGIC 0x336ec578u

struct start_info { /* hvm_start_info, version 1: 56 bytes */
	u32 magic, version, flags, nr_modules;
	u64 modlist, cmdline, rsdp, memmap;
	u32 memmap_entries, reserved;
};
struct start_map { /* hvm_memmap_table_entry */
	u64 addr, size;
	u32 type, reserved;
};
#define MAP_RAM 1

/* Registers as the entry found them; laid out in start.S. */
struct entry_state {
	u32 eflags, ebx, cr0, cr4;
	u16 cs, ds, es, ss;
	u32 efer;
};
extern struct entry_state entry_state;

extern struct start_info start_info;
extern struct start_map memory_map[64];
extern u32 memory_map_entries;

void boot_parse(void);
void memory_map_from_xen(void); /* XENMEM_memory_map, for a start_info without one */
bool is_ram(u64 addr, u64 size);     /* whole range in RAM entries of the map */
bool is_mapped(u64 addr, u64 size);  /* any byte in any entry of the map */
u64 find_hole(u64 pages);            /* page aligned, below 4 GiB, in no entry; 0: none */
extern const char _image_start[], _image_end[];
