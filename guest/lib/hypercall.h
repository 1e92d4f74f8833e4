// SPDX-License-Identifier: Apache-2.0
// Finding Xen, the hypercall page, and calls through it.
#pragma once
#include "xen.h"

extern u8 hypercall_page[4096];
extern bool hypercall_ready;
extern u32 xen_base; /* CPUID base, 0: no Xen */

bool xen_detect(void);
void hypercall_init(void);
struct cpuid xen_leaf(u32 n, u32 sub);
u16 own_domid(void); /* from CPUID; DOMID_SELF where it isn't shown */

/* The callee may change its argument registers. */
static inline s64 hypercall5(u32 nr, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5)
{
	register u64 r10 asm("r10") = a4;
	register u64 r8 asm("r8") = a5;
	s64 ret;
	asm volatile("call *%[fn]"
		     : "=a"(ret), "+D"(a1), "+S"(a2), "+d"(a3), "+r"(r10), "+r"(r8)
		     : [fn] "r"(hypercall_page + nr * 32)
		     : "memory", "rcx", "r9", "r11", "cc");
	return ret;
}
static inline s64 hypercall3(u32 nr, u64 a1, u64 a2, u64 a3) { return hypercall5(nr, a1, a2, a3, 0, 0); }
static inline s64 hypercall2(u32 nr, u64 a1, u64 a2) { return hypercall5(nr, a1, a2, 0, 0, 0); }

/* Offset of the instruction after "mov eax, imm32" in a stub: entering there
 * makes a call with any number in RAX (through call_page). */
#define STUB_AFTER_MOV 5
u64 call_page(void *entry, u64 rax, const u64 args[6]);
u64 call_page32(u32 entry, u32 eax, const u32 args[5]);

static inline s64 xen_version(u32 cmd, void *p) { return hypercall2(HYPERCALL_xen_version, cmd, (u64)p); }
static inline s64 memory_op(u32 cmd, void *p) { return hypercall2(HYPERCALL_memory_op, cmd, (u64)p); }
static inline s64 evtchn_op(u32 cmd, void *p) { return hypercall2(HYPERCALL_event_channel_op, cmd, (u64)p); }
static inline s64 vcpu_op(u32 cmd, u32 vcpu, void *p) { return hypercall3(HYPERCALL_vcpu_op, cmd, vcpu, (u64)p); }
static inline s64 sched_op(u32 cmd, void *p) { return hypercall2(HYPERCALL_sched_op, cmd, (u64)p); }
static inline s64 hvm_op(u32 cmd, void *p) { return hypercall2(HYPERCALL_hvm_op, cmd, (u64)p); }
static inline s64 grant_op(u32 cmd, void *p, u32 n) { return hypercall3(HYPERCALL_grant_table_op, cmd, (u64)p, n); }
static inline s64 physdev_op(u32 cmd, void *p) { return hypercall2(HYPERCALL_physdev_op, cmd, (u64)p); }
static inline s64 vm_assist(u32 cmd, u32 type) { return hypercall2(HYPERCALL_vm_assist, cmd, type); }

s64 hvm_set_param(u32 index, u64 value);
s64 hvm_get_param(u32 index, u64 *value);
s64 add_to_physmap(u32 space, u64 idx, u64 gfn);
