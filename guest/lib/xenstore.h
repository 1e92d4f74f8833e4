// SPDX-License-Identifier: Apache-2.0
// A client of the xenstore ring (io/xs_wire.h): one request at a time, watch
// events kept aside. CPU 0 only; upcall_start() first.
#pragma once
#include "types.h"

enum { XS_DEBUG, XS_DIRECTORY, XS_READ, XS_GET_PERMS, XS_WATCH, XS_UNWATCH, XS_TRANSACTION_START, XS_TRANSACTION_END, XS_INTRODUCE,
       XS_RELEASE, XS_GET_DOMAIN_PATH, XS_WRITE, XS_MKDIR, XS_RM, XS_SET_PERMS, XS_WATCH_EVENT, XS_ERROR };
#define XS_PAYLOAD_MAX 4096

/* Why there is no xenstore, or NULL when the ring is ready. */
const char *xs_init(void);

/* Sends type with the payload and waits for the answer. The answer's length, with
 * out NUL terminated; negative: -1 for an XS_ERROR (its name is in out). A lost
 * answer is fatal. */
s64 xs_request(u32 type, u32 tx, const void *payload, u32 n, char *out, u32 room);

s64 xs_read(u32 tx, const char *path, char *out, u32 room);
s64 xs_write(u32 tx, const char *path, const char *value);
s64 xs_directory(u32 tx, const char *path, char *out, u32 room);
s64 xs_rm(u32 tx, const char *path);
s64 xs_mkdir(u32 tx, const char *path);
s64 xs_watch(const char *path, const char *token);
s64 xs_unwatch(const char *path, const char *token);
u32 xs_transaction_start(void); /* 0: failed */
s64 xs_transaction_end(u32 tx, bool commit);

/* Waits up to ms for a watch event; path and token as two strings in out. */
bool xs_watch_event(char *out, u32 room, u32 ms);
