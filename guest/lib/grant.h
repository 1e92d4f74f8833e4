// SPDX-License-Identifier: Apache-2.0
// Grant table frames (version 1) mapped by add_to_physmap.
#pragma once
#include "xen.h"

s64 grant_map_frame(u32 index, u64 gfn);
s64 grant_query(u16 dom, struct gnttab_query_size *q);
s64 grant_set_version(u32 *version);
