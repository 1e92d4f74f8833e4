// SPDX-License-Identifier: Apache-2.0
// Time: the paravirtual clock in vcpu_info, and a plain TSC clock without it.
#pragma once
#include "xen.h"

/* This CPU's guest time in ns; 0 while the hypervisor has not filled it. Works
 * in ring 3. */
u64 pvclock_now(void);
u64 pvclock_read(volatile struct vcpu_time_info *t);
void clock_init(void);
u64 tsc_khz(void); /* from Xen's CPUID leaf 3, else 1 GHz */
u64 ns_to_tsc(u64 ns);
/* Ring 3 loop: until *word == want or ns passed. True if it came. */
bool spin_until(volatile u32 *word, u32 want, u64 ns);
