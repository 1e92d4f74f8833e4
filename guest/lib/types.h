// SPDX-License-Identifier: Apache-2.0
// Integer names and the few language helpers that every file uses.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef signed char s8;
typedef int s32;
typedef long s64;
typedef __builtin_va_list va_list;
typedef _Bool bool;

#define true 1
#define false 0
#define NULL ((void *)0)

#define PAGE_SIZE 4096ul
#define PAGE_SHIFT 12
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PACKED __attribute__((packed))
#define ALIGNED(n) __attribute__((aligned(n)))
#define NORETURN __attribute__((noreturn))
#define PRINTF(f, a) __attribute__((format(printf, f, a)))
#define va_start __builtin_va_start
#define va_arg __builtin_va_arg
#define va_end __builtin_va_end
#define offsetof(t, m) __builtin_offsetof(t, m)

#define barrier() asm volatile("" ::: "memory")
#define READ_ONCE(x) (*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))
