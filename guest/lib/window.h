// SPDX-License-Identifier: Apache-2.0
// A window of single pages above the identity map: pages that may be absent,
// read-only, out of order, or moved while the code that uses them runs.
#pragma once
#include "types.h"

#define WINDOW_BASE 0x8000000000ul
#define WINDOW_PAGES 512
#define WINDOW(slot) ((void *)(WINDOW_BASE + (slot) * PAGE_SIZE))

/* Slots with a fixed use; the rest is the test's. */
#define SLOT_SHARED_INFO 0
#define SLOT_TEST 16

#define PTE_PRESENT 1
#define PTE_WRITE 2
#define PTE_USER 4
#define PTE_RW (PTE_PRESENT | PTE_WRITE | PTE_USER)

void window_init(void);
/* This CPU's TLB only; flags 0 makes the page absent. */
void window_map(u32 slot, u64 addr, u32 flags);

/* Pointers no hypercall may take. */
#define BAD_POINTER ((void *)(WINDOW_BASE + (WINDOW_PAGES - 1) * PAGE_SIZE + 0x100)) /* absent page */
#define NONCANONICAL ((void *)0x8000000000000100ul)
