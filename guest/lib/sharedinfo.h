// SPDX-License-Identifier: Apache-2.0
// The shared_info page: reached through one window page, so that it can be
// moved to another guest frame while events arrive; and vcpu_info placement.
#pragma once
#include "xen.h"
#include "window.h"

#define shared_info ((volatile struct shared_info *)WINDOW(SLOT_SHARED_INFO))
extern u64 shared_info_gfn; /* 0: not mapped yet */
extern volatile bool shared_info_moving;
extern volatile u32 shared_info_generation; /* counts moves: who sees it change flushes the window page */

/* Maps it at a RAM page of this image and masks all ports. */
void shared_info_init(void);
/* Frames to move to: RAM pages of this image, 0..3, and holes, 0..3. */
u64 shared_info_ram_gfn(u32 i);
u64 shared_info_hole_gfn(u32 i); /* 0: the memory map leaves no hole */
/* Moves the page to gfn while all CPUs run; on CPU 0, ring 0. */
void shared_info_move(u64 gfn);

/* On the CPU itself: vcpu_info in its own RAM page or in shared_info. */
void vcpu_info_place(void *in_ram);
s64 register_vcpu_info(u32 vcpu, u64 addr);
void *vcpu_info_ram(u32 cpu);
