// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

u64 pvclock_read(volatile struct vcpu_time_info *t)
{
	/* Bounded: a writer that never finishes is the caller's failure. */
	for (u32 tries = 0; tries < 100000; tries++) {
		u32 version = t->version;
		barrier();
		if (version == 0)
			return 0;
		if (version & 1) {
			pause();
			continue;
		}
		u64 delta = rdtsc() - t->tsc_timestamp;
		s8 shift = t->tsc_shift;
		delta = shift >= 0 ? delta << shift : delta >> -shift;
		u64 ns = t->system_time + (u64)((unsigned __int128)delta * t->tsc_to_system_mul >> 32);
		barrier();
		if (t->version == version)
			return ns;
	}
	return 0;
}

u64 pvclock_now(void)
{
	volatile struct vcpu_info *v = this_cpu()->vcpu_info;
	return v ? pvclock_read((volatile struct vcpu_time_info *)&v->time) : 0;
}

static u64 khz = 1000000;

/* Early, in ring 0: where KVM has no hardware virtualisation, CPUID in ring 3
 * is the processor's own and knows nothing of Xen. */
void clock_init(void)
{
	u64 found = xen_base ? xen_leaf(3, 0).ecx : 0;
	if (found)
		khz = found;
}

u64 tsc_khz(void) { return khz; }

u64 ns_to_tsc(u64 ns) { return ns / 1000 * tsc_khz() / 1000; }

bool spin_until(volatile u32 *word, u32 want, u64 ns)
{
	u64 end = rdtsc() + ns_to_tsc(ns);
	while (*word != want) {
		if ((s64)(rdtsc() - end) > 0)
			return *word == want;
		pause();
	}
	return true;
}
