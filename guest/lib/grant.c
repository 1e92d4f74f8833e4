// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

s64 grant_map_frame(u32 index, u64 gfn) { return add_to_physmap(XENMAPSPACE_grant_table, index, gfn); }

s64 grant_query(u16 dom, struct gnttab_query_size *q)
{
	memset(q, 0, sizeof(*q));
	q->dom = dom;
	return grant_op(GNTTABOP_query_size, q, 1);
}

s64 grant_set_version(u32 *version) { return grant_op(GNTTABOP_set_version, version, 1); }
