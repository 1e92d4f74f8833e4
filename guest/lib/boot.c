// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

struct start_info start_info;
struct start_map memory_map[64];
u32 memory_map_entries;

void boot_parse(void)
{
	const struct start_info *si = (void *)(u64)entry_state.ebx;

	if (si->magic != START_MAGIC)
		return;
	memcpy(&start_info, si, sizeof(start_info));
	if (si->cmdline) {
		const char *s = (void *)si->cmdline;
		u64 i = 0;
		for (; s[i] && i + 1 < sizeof(cmdline); i++)
			cmdline[i] = s[i];
		cmdline[i] = 0;
	}
	if (si->version >= 1 && si->memmap) {
		memory_map_entries = si->memmap_entries < ARRAY_SIZE(memory_map) ? si->memmap_entries : ARRAY_SIZE(memory_map);
		memcpy(memory_map, (void *)si->memmap, memory_map_entries * sizeof(memory_map[0]));
	}
}

void memory_map_from_xen(void)
{
	static struct xen_memory_map_entry e[64];
	struct xen_memory_map m = {ARRAY_SIZE(e), (u64)e};

	if (memory_op(XENMEM_memory_map, &m))
		return;
	memory_map_entries = m.nr_entries < ARRAY_SIZE(e) ? m.nr_entries : ARRAY_SIZE(e);
	for (u32 i = 0; i < memory_map_entries; i++)
		memory_map[i] = (struct start_map){e[i].addr, e[i].size, e[i].type, 0};
}

bool is_ram(u64 addr, u64 size)
{
	for (u32 i = 0; i < memory_map_entries; i++) {
		struct start_map *m = &memory_map[i];
		if (m->type == MAP_RAM && addr >= m->addr && addr - m->addr < m->size && size <= m->size - (addr - m->addr))
			return true;
	}
	return false;
}

bool is_mapped(u64 addr, u64 size)
{
	for (u32 i = 0; i < memory_map_entries; i++)
		if (addr < memory_map[i].addr + memory_map[i].size && memory_map[i].addr < addr + size)
			return true;
	return false;
}

u64 find_hole(u64 pages)
{
	/* Away from the PCI window's usual BARs, the APICs and the special
	 * pages; 16 MiB steps downwards from there. */
	for (u64 a = 0xf4000000; a >= 0xd0000000; a -= 0x1000000)
		if (!is_mapped(a, pages * PAGE_SIZE))
			return a;
	return 0;
}
