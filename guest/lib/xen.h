// SPDX-License-Identifier: Apache-2.0
// Numbers and layouts of the Xen guest ABI (Xen public headers), 64-bit form.
#pragma once
#include "types.h"

enum {
	XEN_EPERM = 1, XEN_ENOENT = 2, XEN_ESRCH = 3, XEN_ENXIO = 6, XEN_E2BIG = 7, XEN_EAGAIN = 11, XEN_ENOMEM = 12, XEN_EACCES = 13,
	XEN_EFAULT = 14, XEN_EBUSY = 16, XEN_EEXIST = 17, XEN_EINVAL = 22, XEN_ENOSPC = 28, XEN_ERANGE = 34, XEN_ENOSYS = 38,
	XEN_ENODATA = 61, XEN_EOPNOTSUPP = 95,
};

#define HYPERCALL_memory_op 12
#define HYPERCALL_multicall 13
#define HYPERCALL_set_timer_op 15
#define HYPERCALL_xen_version 17
#define HYPERCALL_console_io 18
#define HYPERCALL_grant_table_op 20
#define HYPERCALL_vm_assist 21
#define HYPERCALL_iret 23
#define HYPERCALL_vcpu_op 24
#define HYPERCALL_sched_op 29
#define HYPERCALL_event_channel_op 32
#define HYPERCALL_physdev_op 33
#define HYPERCALL_hvm_op 34

#define DOMID_SELF 0x7ff0
#define DOMID_NONE 0x1234 /* no such domain */

/* xen_version.h */
enum { XENVER_version, XENVER_extraversion, XENVER_compile_info, XENVER_capabilities, XENVER_changeset, XENVER_platform_parameters,
       XENVER_get_features, XENVER_pagesize, XENVER_guest_handle, XENVER_commandline, XENVER_build_id };
struct xen_feature_info {
	u32 submap_idx, submap;
};

/* memory.h */
#define XENMEM_decrease_reservation 1
#define XENMEM_maximum_ram_page 2
#define XENMEM_current_reservation 3
#define XENMEM_maximum_reservation 4
#define XENMEM_populate_physmap 6
#define XENMEM_add_to_physmap 7
#define XENMEM_memory_map 9
#define XENMEM_maximum_gpfn 14
#define XENMEM_remove_from_physmap 15
#define XENMEM_add_to_physmap_batch 23
#define XENMAPSPACE_shared_info 0
#define XENMAPSPACE_grant_table 1
struct xen_add_to_physmap {
	u16 domid, size;
	u32 space;
	u64 idx, gpfn;
};
struct xen_add_to_physmap_batch {
	u16 domid, space, size, extra;
	u64 idxs, gpfns, errs;
};
struct xen_remove_from_physmap {
	u16 domid;
	u64 gpfn;
};
struct xen_memory_map {
	u32 nr_entries;
	u64 buffer;
};
struct xen_memory_map_entry {
	u64 addr, size;
	u32 type;
} PACKED;
struct xen_memory_reservation {
	u64 extent_start, nr_extents;
	u32 extent_order, flags;
	u16 domid;
};
_Static_assert(sizeof(struct xen_add_to_physmap) == 24 && sizeof(struct xen_add_to_physmap_batch) == 32 &&
	       sizeof(struct xen_remove_from_physmap) == 16 && sizeof(struct xen_memory_map) == 16 &&
	       sizeof(struct xen_memory_map_entry) == 20 && sizeof(struct xen_memory_reservation) == 32, "memory.h");

#define CONSOLEIO_write 0
#define CONSOLEIO_read 1

/* event_channel.h */
enum { EVTCHNOP_bind_interdomain, EVTCHNOP_bind_virq, EVTCHNOP_bind_pirq, EVTCHNOP_close, EVTCHNOP_send, EVTCHNOP_status,
       EVTCHNOP_alloc_unbound, EVTCHNOP_bind_ipi, EVTCHNOP_bind_vcpu, EVTCHNOP_unmask, EVTCHNOP_reset, EVTCHNOP_init_control,
       EVTCHNOP_expand_array, EVTCHNOP_set_priority };
#define EVTCHN_PORTS 4096
#define VIRQ_TIMER 0
#define VIRQ_DEBUG 1
#define VIRQ_CONSOLE 2 /* global */
#define NR_VIRQS 24
struct evtchn_bind_interdomain {
	u16 remote_dom;
	u32 remote_port, local_port;
};
struct evtchn_bind_virq {
	u32 virq, vcpu, port;
};
struct evtchn_bind_pirq {
	u32 pirq, flags, port;
};
struct evtchn_port {
	u32 port;
};
struct evtchn_alloc_unbound {
	u16 dom, remote_dom;
	u32 port;
};
struct evtchn_bind_ipi {
	u32 vcpu, port;
};
struct evtchn_bind_vcpu {
	u32 port, vcpu;
};
struct evtchn_reset {
	u16 dom;
};
enum { EVTCHNSTAT_closed, EVTCHNSTAT_unbound, EVTCHNSTAT_interdomain, EVTCHNSTAT_pirq, EVTCHNSTAT_virq, EVTCHNSTAT_ipi };
struct evtchn_status {
	u16 dom;
	u32 port, status, vcpu;
	union {
		struct {
			u16 dom;
			u32 port;
		} interdomain;
		u16 unbound_dom;
		u32 pirq, virq;
	};
};
struct evtchn_init_control {
	u64 gfn;
	u32 offset, vcpu;
	u8 link_bits, pad[7];
};
struct evtchn_set_priority {
	u32 port, priority;
};
_Static_assert(sizeof(struct evtchn_status) == 24 && sizeof(struct evtchn_bind_interdomain) == 12 &&
	       sizeof(struct evtchn_init_control) == 24, "event_channel.h");

/* vcpu.h */
enum { VCPUOP_initialise, VCPUOP_up, VCPUOP_down, VCPUOP_is_up, VCPUOP_get_runstate_info, VCPUOP_register_runstate_memory_area,
       VCPUOP_set_periodic_timer, VCPUOP_stop_periodic_timer, VCPUOP_set_singleshot_timer, VCPUOP_stop_singleshot_timer,
       VCPUOP_register_vcpu_info, VCPUOP_send_nmi, VCPUOP_register_vcpu_time_memory_area = 13 };
#define RUNSTATE_running 0
#define RUNSTATE_UPDATE (1ul << 63)
struct runstate_info {
	u32 state;
	u64 state_entry_time, time[4];
};
struct vcpu_set_singleshot_timer {
	u64 timeout_abs_ns;
	u32 flags;
};
#define VCPU_SSHOTTMR_future 1
struct vcpu_register_vcpu_info {
	u64 mfn;
	u32 offset, reserved;
};
/* hvm/hvm_vcpu.h, mode 1 */
#define VCPU_HVM_MODE_64B 1
struct vcpu_hvm_context {
	u32 mode, pad;
	u64 rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, rip, rflags, cr0, cr3, cr4, efer;
	u8 rest[128]; /* the 32-bit form is longer */
};
_Static_assert(sizeof(struct runstate_info) == 48 && offsetof(struct vcpu_hvm_context, efer) == 112, "vcpu.h");

/* sched.h */
enum { SCHEDOP_yield, SCHEDOP_block, SCHEDOP_shutdown, SCHEDOP_poll, SCHEDOP_remote_shutdown, SCHEDOP_shutdown_code, SCHEDOP_watchdog };
enum { SHUTDOWN_poweroff, SHUTDOWN_reboot, SHUTDOWN_suspend, SHUTDOWN_crash, SHUTDOWN_watchdog, SHUTDOWN_soft_reset };
struct sched_shutdown {
	u32 reason;
};
struct sched_poll {
	u64 ports;
	u32 nr_ports;
	u64 timeout;
};
struct sched_watchdog {
	u32 id, timeout;
};
_Static_assert(sizeof(struct sched_poll) == 24, "sched.h");

/* hvm/hvm_op.h, hvm/params.h */
#define HVMOP_set_param 0
#define HVMOP_get_param 1
#define HVMOP_set_evtchn_upcall_vector 23
#define HVM_PARAM_CALLBACK_IRQ 0
#define HVM_PARAM_STORE_PFN 1
#define HVM_PARAM_STORE_EVTCHN 2
#define HVM_PARAM_IOREQ_PFN 5
#define HVM_PARAM_CONSOLE_PFN 17
#define HVM_PARAM_CONSOLE_EVTCHN 18
#define HVM_NR_PARAMS 39
#define CALLBACK_VIA_VECTOR (2ul << 56)
struct xen_hvm_param {
	u16 domid;
	u32 index;
	u64 value;
};
struct xen_hvm_evtchn_upcall_vector {
	u32 vcpu;
	u8 vector;
};

/* grant_table.h */
#define GNTTABOP_setup_table 2
#define GNTTABOP_copy 5
#define GNTTABOP_query_size 6
#define GNTTABOP_set_version 8
#define GNTTABOP_get_version 10
#define GNTST_okay 0
#define GNTST_general_error (-1l)
#define GNTST_bad_domain (-2l)
struct gnttab_setup_table {
	u16 dom;
	u32 nr_frames;
	short status;
	u64 frame_list;
};
struct gnttab_query_size {
	u16 dom;
	u32 nr_frames, max_nr_frames;
	short status;
};
struct gnttab_get_version {
	u16 dom;
	u32 version;
};
struct grant_entry_v1 {
	u16 flags, domid;
	u32 frame;
};
#define GTF_permit_access 1
#define GRANTS_PER_FRAME 512
_Static_assert(sizeof(struct gnttab_setup_table) == 24 && sizeof(struct gnttab_query_size) == 16, "grant_table.h");

struct multicall_entry {
	u64 op, result, args[6];
};

#define VMASST_CMD_enable 0
#define VMASST_CMD_disable 1
#define VMASST_TYPE_runstate_update_flag 5

#define PHYSDEVOP_irq_status_query 5
#define PHYSDEVOP_eoi 12
#define PHYSDEVOP_get_free_pirq 23

/* xen.h: the shared page, 64-bit layout */
struct vcpu_time_info {
	u32 version, pad0;
	u64 tsc_timestamp, system_time;
	u32 tsc_to_system_mul;
	s8 tsc_shift;
	u8 flags, pad1[2];
};
struct vcpu_info {
	u8 evtchn_upcall_pending, evtchn_upcall_mask, pad[6];
	u64 evtchn_pending_sel;
	u64 cr2, pad2;
	struct vcpu_time_info time;
};
struct shared_info {
	struct vcpu_info vcpu_info[32];
	u64 evtchn_pending[64];
	u64 evtchn_mask[64];
	u32 wc_version, wc_sec, wc_nsec, wc_sec_hi;
	u8 arch[0x3f0];
};
_Static_assert(sizeof(struct vcpu_info) == 64 && offsetof(struct shared_info, evtchn_pending) == 0x800 &&
	       offsetof(struct shared_info, evtchn_mask) == 0xa00 && offsetof(struct shared_info, wc_version) == 0xc00 &&
	       sizeof(struct shared_info) == 4096, "xen.h");
