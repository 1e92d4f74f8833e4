// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

u64 shared_info_gfn;
volatile bool shared_info_moving;
volatile u32 shared_info_generation;

/* Where the special page may lie in RAM. While it does, this memory is gone;
 * afterwards it may be a hole: nothing else is kept here. */
static u8 places[4][4096] ALIGNED(4096);
static struct vcpu_info infos[MAX_CPUS] ALIGNED(4096);

u64 shared_info_ram_gfn(u32 i) { return (u64)places[i] >> PAGE_SHIFT; }

u64 shared_info_hole_gfn(u32 i)
{
	u64 hole = find_hole(4);
	return hole ? (hole >> PAGE_SHIFT) + i : 0;
}

static void on_rescan(struct frame *f)
{
	(void)f;
	evtchn_scan();
	apic_eoi();
}

void shared_info_init(void)
{
	s64 rc = add_to_physmap(XENMAPSPACE_shared_info, 0, shared_info_ram_gfn(0));
	if (rc)
		fatal("add_to_physmap shared_info: %s", errno_name(rc));
	shared_info_gfn = shared_info_ram_gfn(0);
	window_map(SLOT_SHARED_INFO, shared_info_gfn << PAGE_SHIFT, PTE_RW);
	for (u32 i = 0; i < 64; i++)
		shared_info->evtchn_mask[i] = ~0ul;
	for (u32 i = 0; i < MAX_CPUS && i < 32; i++)
		percpu[i].vcpu_info = &shared_info->vcpu_info[i];
	trap_handler(VEC_RESCAN, on_rescan);
	mfence();
}

static bool quiet(void)
{
	for (u32 i = 0; i < cpus_online; i++)
		if (READ_ONCE(percpu[i].scanning))
			return false;
	return true;
}

/* Ring 3, where waiting in a loop costs nothing and interrupts come in. */
static u64 until_quiet(void *arg)
{
	(void)arg;
	while (!quiet())
		pause();
	return 0;
}

void shared_info_move(u64 gfn)
{
	shared_info_moving = true;
	mfence();
	if (!quiet())
		user_call(until_quiet, NULL);
	s64 rc = add_to_physmap(XENMAPSPACE_shared_info, 0, gfn);
	if (rc)
		fatal("move shared_info to gfn 0x%lx: %s", gfn, errno_name(rc));
	shared_info_gfn = gfn;
	window_map(SLOT_SHARED_INFO, gfn << PAGE_SHIFT, PTE_RW);
	/* The scans that held off flush their translation when they see this. */
	shared_info_generation++;
	shared_info_moving = false;
	mfence();
	for (u32 i = 1; i < cpus_online; i++)
		apic_ipi(i, VEC_RESCAN);
	evtchn_scan();
}

s64 register_vcpu_info(u32 vcpu, u64 addr)
{
	struct vcpu_register_vcpu_info r = {.mfn = addr >> PAGE_SHIFT, .offset = addr & (PAGE_SIZE - 1)};
	return vcpu_op(VCPUOP_register_vcpu_info, vcpu, &r);
}

void *vcpu_info_ram(u32 cpu) { return &infos[cpu]; }

void vcpu_info_place(void *in_ram)
{
	struct percpu *c = this_cpu();

	if (c->vcpu_info_registered)
		return;
	if (!in_ram) {
		if (!c->vcpu_info)
			fatal("vCPU %u has no vcpu_info in shared_info (32 at most)", c->id);
		return;
	}
	u64 flags = irq_save(); /* no scan between the call and the new pointer */
	s64 rc = register_vcpu_info(c->id, (u64)&infos[c->id]);
	if (rc)
		fatal("register_vcpu_info %u: %s", c->id, errno_name(rc));
	c->vcpu_info = &infos[c->id];
	c->vcpu_info_registered = true;
	irq_restore(flags);
	evtchn_scan();
}
