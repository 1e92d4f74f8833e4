// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

extern u64 page_root[512];
static u64 pdpt[512] ALIGNED(4096), dir[512] ALIGNED(4096), table[512] ALIGNED(4096);

void window_init(void)
{
	dir[0] = (u64)table | 0x27;
	pdpt[0] = (u64)dir | 0x27;
	page_root[WINDOW_BASE >> 39] = (u64)pdpt | 0x27;
}

void window_map(u32 slot, u64 addr, u32 flags)
{
	WRITE_ONCE(table[slot], flags ? addr | flags : 0);
	invlpg(WINDOW(slot));
}
