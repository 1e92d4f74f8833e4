// SPDX-License-Identifier: Apache-2.0
#include "guest.h"
#include "ring.h"

u32 ring_put(struct ring *r, const void *p, u32 n)
{
	u32 prod = *r->prod, room = r->size - (prod - *r->cons), i;
	for (i = 0; i < n && i < room; i++)
		r->data[(prod + i) & (r->size - 1)] = ((const u8 *)p)[i];
	barrier();
	*r->prod = prod + i;
	mfence(); /* before the notify, and before looking whether there is more room */
	return i;
}

u32 ring_get(struct ring *r, void *p, u32 n)
{
	u32 cons = *r->cons, have = *r->prod - cons, i;
	barrier();
	for (i = 0; i < n && i < have; i++)
		((u8 *)p)[i] = r->data[(cons + i) & (r->size - 1)];
	mfence();
	*r->cons = cons + i;
	mfence();
	return i;
}
