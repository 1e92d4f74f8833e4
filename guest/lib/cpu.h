// SPDX-License-Identifier: Apache-2.0
// Single instructions as functions.
#pragma once
#include "types.h"

static inline void outb(u16 port, u8 v) { asm volatile("outb %0, %1" ::"a"(v), "Nd"(port) : "memory"); }
static inline void outl(u16 port, u32 v) { asm volatile("outl %0, %1" ::"a"(v), "Nd"(port) : "memory"); }
static inline u8 inb(u16 port)
{
	u8 v;
	asm volatile("inb %1, %0" : "=a"(v) : "Nd"(port) : "memory");
	return v;
}

static inline u64 rdmsr(u32 msr)
{
	u32 lo, hi;
	asm volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr) : "memory");
	return (u64)hi << 32 | lo;
}
static inline void wrmsr(u32 msr, u64 v)
{
	asm volatile("wrmsr" ::"c"(msr), "a"((u32)v), "d"((u32)(v >> 32)) : "memory");
}

struct cpuid {
	u32 eax, ebx, ecx, edx;
};
static inline struct cpuid cpuid(u32 leaf, u32 sub)
{
	struct cpuid r;
	asm volatile("cpuid" : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx) : "a"(leaf), "c"(sub));
	return r;
}

/* lfence keeps the read from moving before what the caller did earlier. */
static inline u64 rdtsc(void)
{
	u32 lo, hi;
	asm volatile("lfence; rdtsc" : "=a"(lo), "=d"(hi)::"memory");
	return (u64)hi << 32 | lo;
}

static inline u64 read_cr0(void) { u64 v; asm volatile("mov %%cr0, %0" : "=r"(v)); return v; }
static inline u64 read_cr2(void) { u64 v; asm volatile("mov %%cr2, %0" : "=r"(v)); return v; }
static inline u64 read_cr3(void) { u64 v; asm volatile("mov %%cr3, %0" : "=r"(v)); return v; }
static inline u64 read_cr4(void) { u64 v; asm volatile("mov %%cr4, %0" : "=r"(v)); return v; }
static inline void write_cr3(u64 v) { asm volatile("mov %0, %%cr3" ::"r"(v) : "memory"); }
static inline void invlpg(const void *p) { asm volatile("invlpg (%0)" ::"r"(p) : "memory"); }

static inline u64 read_flags(void) { u64 v; asm volatile("pushfq; pop %0" : "=r"(v)::"memory"); return v; }
#define FLAGS_IF 0x200ul
static inline void cli(void) { asm volatile("cli" ::: "memory"); }
static inline void sti(void) { asm volatile("sti" ::: "memory"); }
static inline void pause(void) { asm volatile("pause" ::: "memory"); }
static inline void mfence(void) { asm volatile("mfence" ::: "memory"); }

static inline u64 irq_save(void)
{
	u64 f = read_flags();
	cli();
	return f;
}
static inline void irq_restore(u64 f)
{
	if (f & FLAGS_IF)
		sti();
}

/* Bit operations with the lock prefix. Bit numbers may exceed 31: the CPU
 * takes the right byte itself. Each returns the bit's old value. */
static inline bool locked_bts(volatile void *p, u64 bit)
{
	bool old;
	asm volatile("lock btsq %2, %1; setc %0" : "=q"(old), "+m"(*(volatile u64 *)p) : "r"(bit) : "memory", "cc");
	return old;
}
static inline bool locked_btr(volatile void *p, u64 bit)
{
	bool old;
	asm volatile("lock btrq %2, %1; setc %0" : "=q"(old), "+m"(*(volatile u64 *)p) : "r"(bit) : "memory", "cc");
	return old;
}
static inline bool test_bit(const volatile void *p, u64 bit) { return ((const volatile u64 *)p)[bit / 64] >> (bit % 64) & 1; }

static inline u64 xchg64(volatile u64 *p, u64 v) { asm volatile("xchgq %0, %1" : "+r"(v), "+m"(*p)::"memory"); return v; }
static inline u32 xchg32(volatile u32 *p, u32 v) { asm volatile("xchgl %0, %1" : "+r"(v), "+m"(*p)::"memory"); return v; }
static inline u8 xchg8(volatile u8 *p, u8 v) { asm volatile("xchgb %0, %1" : "+q"(v), "+m"(*p)::"memory"); return v; }
static inline void locked_inc(volatile u32 *p) { asm volatile("lock incl %0" : "+m"(*p)::"memory", "cc"); }
