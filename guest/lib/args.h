// SPDX-License-Identifier: Apache-2.0
// The command line: space separated key=value words.
#pragma once
#include "types.h"

extern char cmdline[1024];
const char *arg_text(const char *key, char *buf, u64 n); /* NULL when absent */
u64 arg_number(const char *key, u64 otherwise);          /* decimal or 0x */
bool arg_is(const char *key, const char *value);
/* "key=A,B,...": how many numbers were there, up to n. */
u32 arg_numbers(const char *key, u64 *out, u32 n);
