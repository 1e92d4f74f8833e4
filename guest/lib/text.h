// SPDX-License-Identifier: Apache-2.0
// Memory and string functions, formatting, and the console it is written to.
#pragma once
#include "types.h"

void *memset(void *d, int c, u64 n);
void *memcpy(void *d, const void *s, u64 n);
int memcmp(const void *a, const void *b, u64 n);
u64 strlen(const char *s);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, u64 n);
char *strstr(const char *s, const char *what);

/* %s %c %d %i %u %x %p %% with l, h and z lengths (h and z as written in the ABI), zero or space
 * padded width and left alignment. Returns the length written, at most n-1. */
int vsnprintf(char *out, u64 n, const char *fmt, va_list ap);
int snprintf(char *out, u64 n, const char *fmt, ...) PRINTF(3, 4);

/* Each call is one console write: a line stays whole. Ring 0 only. */
int printf(const char *fmt, ...) PRINTF(1, 2);
void console_write(const char *s, u64 n);
