// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

enum upcall_method upcall_method;
const char *const upcall_names[] = {"vector", "callback", "gsi"};

static void on_upcall(struct frame *f)
{
	this_cpu()->upcalls++;
	evtchn_scan();
	if (f->vector != VEC_CALLBACK)
		apic_eoi();
}

static void set_vector(void *arg)
{
	struct xen_hvm_evtchn_upcall_vector v = {.vcpu = this_cpu()->id, .vector = VEC_UPCALL};
	(void)arg;
	s64 rc = hvm_op(HVMOP_set_evtchn_upcall_vector, &v);
	if (rc)
		fatal("set_evtchn_upcall_vector on vCPU %u: %s", this_cpu()->id, errno_name(rc));
}

void upcall_set(enum upcall_method m)
{
	u32 gsi = arg_number("gsi", 10);
	u64 via = 1; /* nonzero and no vector: "events come some other way" */

	trap_handler(VEC_UPCALL, on_upcall);
	trap_handler(VEC_CALLBACK, on_upcall);
	trap_handler(VEC_GSI, on_upcall);
	upcall_method = m;
	switch (m) {
	case UPCALL_VECTOR:
		smp_all(set_vector, NULL);
		break;
	case UPCALL_CALLBACK:
		via = CALLBACK_VIA_VECTOR | VEC_CALLBACK;
		break;
	case UPCALL_GSI:
		ioapic_route(gsi, VEC_GSI, 0);
		via = gsi;
		break;
	}
	s64 rc = hvm_set_param(HVM_PARAM_CALLBACK_IRQ, via);
	if (rc)
		fatal("set_param CALLBACK_IRQ 0x%lx: %s", via, errno_name(rc));
}

void upcall_start(void)
{
	char name[16];
	enum upcall_method m = xen_leaf(4, 0).eax >> 6 & 1 ? UPCALL_VECTOR : UPCALL_CALLBACK;

	if (arg_text("upcall", name, sizeof(name))) {
		for (m = UPCALL_VECTOR; m <= UPCALL_GSI && strcmp(name, upcall_names[m]); m++)
			;
		if (m > UPCALL_GSI)
			fatal("upcall=%s: want vector, callback or gsi", name);
	}
	if (!shared_info_gfn)
		shared_info_init();
	smp_all(vcpu_info_place, (void *)(u64)!arg_is("vcpuinfo", "shared"));
	upcall_set(m);
	sti();
}

bool upcall_reaches(u32 cpu) { return cpu == 0 || upcall_method != UPCALL_GSI; }

u32 upcalls_total(void)
{
	u32 n = 0;
	for (u32 i = 0; i < cpus_online; i++)
		n += percpu[i].upcalls;
	return n;
}
