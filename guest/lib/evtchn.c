// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

volatile u32 evtchn_count[EVTCHN_PORTS];
volatile u8 evtchn_last_cpu[EVTCHN_PORTS];
void (*evtchn_hook)(u32 port);

static u32 checked_port(const char *what, s64 rc, u32 port, u32 vcpu)
{
	if (rc)
		fatal("%s: %s", what, errno_name(rc));
	if (port == 0 || port >= EVTCHN_PORTS)
		fatal("%s: port %u", what, port);
	evtchn_mask(port);
	evtchn_own(port, vcpu);
	return port;
}

u32 evtchn_alloc_unbound(u16 remote)
{
	struct evtchn_alloc_unbound a = {.dom = DOMID_SELF, .remote_dom = remote};
	s64 rc = evtchn_op(EVTCHNOP_alloc_unbound, &a);
	return checked_port("alloc_unbound", rc, a.port, 0);
}

u32 evtchn_bind_interdomain(u16 remote, u32 remote_port)
{
	struct evtchn_bind_interdomain a = {.remote_dom = remote, .remote_port = remote_port};
	s64 rc = evtchn_op(EVTCHNOP_bind_interdomain, &a);
	return checked_port("bind_interdomain", rc, a.local_port, 0);
}

u32 evtchn_bind_virq(u32 virq, u32 vcpu)
{
	struct evtchn_bind_virq a = {.virq = virq, .vcpu = vcpu};
	s64 rc = evtchn_op(EVTCHNOP_bind_virq, &a);
	return checked_port("bind_virq", rc, a.port, vcpu);
}

u32 evtchn_bind_ipi(u32 vcpu)
{
	struct evtchn_bind_ipi a = {.vcpu = vcpu};
	s64 rc = evtchn_op(EVTCHNOP_bind_ipi, &a);
	return checked_port("bind_ipi", rc, a.port, vcpu);
}

s64 evtchn_close(u32 port)
{
	struct evtchn_port a = {port};
	return evtchn_op(EVTCHNOP_close, &a);
}

s64 evtchn_send(u32 port)
{
	struct evtchn_port a = {port};
	return evtchn_op(EVTCHNOP_send, &a);
}

s64 evtchn_get_status(u32 port, struct evtchn_status *s)
{
	memset(s, 0, sizeof(*s));
	s->dom = DOMID_SELF;
	s->port = port;
	return evtchn_op(EVTCHNOP_status, s);
}

s64 evtchn_bind_vcpu(u32 port, u32 vcpu)
{
	struct evtchn_bind_vcpu a = {.port = port, .vcpu = vcpu};
	s64 rc = evtchn_op(EVTCHNOP_bind_vcpu, &a);
	if (!rc)
		evtchn_own(port, vcpu);
	return rc;
}

s64 evtchn_unmask(u32 port)
{
	struct evtchn_port a = {port};
	return evtchn_op(EVTCHNOP_unmask, &a);
}

void evtchn_own(u32 port, u32 vcpu)
{
	for (u32 i = 0; i < cpus || i <= vcpu; i++)
		if (i == vcpu)
			locked_bts(percpu[i].mine, port);
		else if (test_bit(percpu[i].mine, port))
			locked_btr(percpu[i].mine, port);
}

void evtchn_mask(u32 port) { locked_bts(shared_info->evtchn_mask, port); }
bool evtchn_pending(u32 port) { return test_bit(shared_info->evtchn_pending, port); }
bool evtchn_masked(u32 port) { return test_bit(shared_info->evtchn_mask, port); }
bool evtchn_clear(u32 port) { return locked_btr(shared_info->evtchn_pending, port); }

void evtchn_unmask_local(u32 port)
{
	/* With an event waiting, only the hypervisor can raise the upcall. */
	if (evtchn_pending(port) || (locked_btr(shared_info->evtchn_mask, port), evtchn_pending(port))) {
		locked_bts(shared_info->evtchn_mask, port);
		evtchn_unmask(port);
	}
}

/* CPUs that halt until an event was taken, by whichever CPU. */
static volatile u64 waiters;

static void wake_waiters(struct percpu *c)
{
	u64 w = waiters & ~(1ul << c->id);
	while (w) {
		apic_ipi(__builtin_ctzl(w), VEC_WAKE);
		w &= w - 1;
	}
}

static void scan_word(struct percpu *c, u32 w, u64 mine)
{
	u64 bits = shared_info->evtchn_pending[w] & ~shared_info->evtchn_mask[w] & mine;

	while (bits) {
		u32 port = w * 64 + __builtin_ctzl(bits);
		bits &= bits - 1;
		if (!locked_btr(shared_info->evtchn_pending, port))
			continue; /* another CPU was faster */
		evtchn_last_cpu[port] = c->id;
		locked_inc(&evtchn_count[port]);
		if (evtchn_hook)
			evtchn_hook(port);
		wake_waiters(c);
	}
}

void evtchn_scan(void)
{
	u64 flags = irq_save();
	struct percpu *c = this_cpu();
	volatile struct vcpu_info *v = c->vcpu_info;

	c->scanning = true;
	mfence();
	/* While the pages move nobody may touch them; the mover makes every
	 * CPU scan again afterwards. */
	if (!READ_ONCE(shared_info_moving) && v) {
		if (c->generation != shared_info_generation) {
			c->generation = shared_info_generation;
			invlpg(WINDOW(SLOT_SHARED_INFO));
		}
		do {
			v->evtchn_upcall_pending = 0;
			/* The exchange is the barrier after clearing it. */
			u64 sel = xchg64(&v->evtchn_pending_sel, 0);
			while (sel) {
				u32 w = __builtin_ctzl(sel);
				sel &= sel - 1;
				scan_word(c, w, c->mine[w]);
			}
		} while (v->evtchn_upcall_pending);
	}
	barrier();
	c->scanning = false;
	irq_restore(flags);
}

void evtchn_scan_all(void)
{
	u64 flags = irq_save();
	for (u32 w = 0; w < 64; w++)
		scan_word(this_cpu(), w, ~0ul);
	irq_restore(flags);
}

struct wait {
	u32 port, count;
};
static bool reached(void *arg)
{
	struct wait *w = arg;
	return evtchn_count[w->port] >= w->count;
}

bool evtchn_wait(u32 port, u32 count, u32 ms)
{
	struct wait w = {port, count};
	u32 id = this_cpu()->id;

	locked_bts(&waiters, id);
	bool ok = wait_for(reached, &w, ms);
	locked_btr(&waiters, id);
	return ok;
}
