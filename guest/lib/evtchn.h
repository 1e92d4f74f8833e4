// SPDX-License-Identifier: Apache-2.0
// 2-level event channels: port operations, the shared bits, and the scan that
// an upcall runs.
#pragma once
#include "xen.h"

/* Events taken so far: pending bits this guest changed from 1 to 0. */
extern volatile u32 evtchn_count[EVTCHN_PORTS];
extern volatile u8 evtchn_last_cpu[EVTCHN_PORTS];
/* Called for each event taken, in the interrupt handler of the CPU it came to. */
extern void (*evtchn_hook)(u32 port);

/* The port, or fatal. The port is masked still, and counted on vcpu. */
u32 evtchn_alloc_unbound(u16 remote);
u32 evtchn_bind_interdomain(u16 remote, u32 remote_port);
u32 evtchn_bind_virq(u32 virq, u32 vcpu);
u32 evtchn_bind_ipi(u32 vcpu);
s64 evtchn_close(u32 port);
s64 evtchn_send(u32 port);
s64 evtchn_get_status(u32 port, struct evtchn_status *s);
s64 evtchn_bind_vcpu(u32 port, u32 vcpu); /* and the scan of vcpu takes it */
s64 evtchn_unmask(u32 port);              /* EVTCHNOP_unmask */

void evtchn_own(u32 port, u32 vcpu); /* only vcpu's scan takes this port */
void evtchn_mask(u32 port);
void evtchn_unmask_local(u32 port);  /* clears the bit; asks Xen only if an event waits */
bool evtchn_pending(u32 port);
bool evtchn_masked(u32 port);
bool evtchn_clear(u32 port); /* takes the event by hand; its old value */

/* Takes what is pending for this CPU, until upcall_pending stays 0. */
void evtchn_scan(void);
/* Takes every pending bit that is not masked, whoever's it is. */
void evtchn_scan_all(void);
bool evtchn_wait(u32 port, u32 count, u32 ms); /* until evtchn_count reaches count */
