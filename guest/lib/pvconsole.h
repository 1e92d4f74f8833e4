// SPDX-License-Identifier: Apache-2.0
// A client of the PV console ring (io/console.h). CPU 0; upcall_start() first.
#pragma once
#include "types.h"

const char *pvconsole_init(void); /* NULL when ready, else why not */
bool pvconsole_write(const char *s, u64 n, u32 ms);   /* all of it, waiting for room */
bool pvconsole_drained(u32 ms);                       /* the backend has read everything */
s64 pvconsole_line(char *out, u64 room, u32 ms);      /* up to CR or LF; -1 on timeout */
