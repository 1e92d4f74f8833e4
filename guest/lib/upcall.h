// SPDX-License-Identifier: Apache-2.0
// How the hypervisor interrupts a CPU for its events: upcall=vector (per-vCPU
// vector, EOI), callback (vector for the domain, no EOI) or gsi (an IOAPIC pin,
// level, vCPU 0 only; gsi= chooses the pin).
#pragma once
#include "types.h"

enum upcall_method { UPCALL_VECTOR, UPCALL_CALLBACK, UPCALL_GSI };
extern enum upcall_method upcall_method;
extern const char *const upcall_names[];

/* shared_info, vcpu_info (vcpuinfo=shared|ram) and the method on all online
 * CPUs. Method by upcall=, else vector where CPUID offers it, else callback. */
void upcall_start(void);
void upcall_set(enum upcall_method m);
bool upcall_reaches(u32 cpu); /* gsi: only CPU 0 */
u32 upcalls_total(void);
