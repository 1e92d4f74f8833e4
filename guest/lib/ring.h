// SPDX-License-Identifier: Apache-2.0
// One direction of a byte ring shared with a backend.
#pragma once
#include "types.h"

struct ring {
	volatile u8 *data;
	u32 size; /* power of two */
	volatile u32 *cons, *prod;
};

/* As many bytes as fit now. */
u32 ring_put(struct ring *r, const void *p, u32 n);
u32 ring_get(struct ring *r, void *p, u32 n);
