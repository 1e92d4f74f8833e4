// SPDX-License-Identifier: Apache-2.0
// The local APIC, by x2APIC registers where CPUID has them (x2apic=0 on the
// command line: MMIO), and one IOAPIC pin.
#pragma once
#include "types.h"

void apic_init(void); /* on each CPU: software enable, all LVTs masked */
u32 apic_id(void);
void apic_eoi(void);
void apic_ipi(u32 cpu, u8 vector);
void apic_init_sipi(u32 cpu, u8 page);
/* One-shot after ms, 0 stops; sets percpu timer_fired. Coarse, and no longer than
 * the counter's 32 bits (4 s at KVM's 1 GHz): for time limits only. */
void apic_timer(u32 ms);
void apic_timer_ticks(u32 ticks); /* the same, in the counter's own unit */
u32 apic_ticks_per_ms(void);
/* Level triggered, active high, to one CPU. */
void ioapic_route(u32 pin, u8 vector, u32 cpu);
void ioapic_mask(u32 pin);
