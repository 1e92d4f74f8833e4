// SPDX-License-Identifier: Apache-2.0
// event_channel_op: binding rules, states and every error code.
//   exhaust=1  take ports until there are none
//   realxen=1  expect what Xen 4.17 itself answers where it differs
#include "guest.h"

#define TOO_BIG 0x7fffffff

static s64 alloc(u16 dom, u16 remote, u32 *port)
{
	struct evtchn_alloc_unbound a = {.dom = dom, .remote_dom = remote};
	s64 rc = evtchn_op(EVTCHNOP_alloc_unbound, &a);
	*port = a.port;
	return rc;
}
static s64 interdomain(u16 dom, u32 remote, u32 *port)
{
	struct evtchn_bind_interdomain a = {.remote_dom = dom, .remote_port = remote};
	s64 rc = evtchn_op(EVTCHNOP_bind_interdomain, &a);
	*port = a.local_port;
	return rc;
}
static s64 virq(u32 nr, u32 vcpu, u32 *port)
{
	struct evtchn_bind_virq a = {.virq = nr, .vcpu = vcpu};
	s64 rc = evtchn_op(EVTCHNOP_bind_virq, &a);
	*port = a.port;
	return rc;
}
static s64 ipi(u32 vcpu, u32 *port)
{
	struct evtchn_bind_ipi a = {.vcpu = vcpu};
	s64 rc = evtchn_op(EVTCHNOP_bind_ipi, &a);
	*port = a.port;
	return rc;
}
static s64 bind_vcpu(u32 port, u32 vcpu)
{
	struct evtchn_bind_vcpu a = {.port = port, .vcpu = vcpu};
	return evtchn_op(EVTCHNOP_bind_vcpu, &a);
}
static u32 state(u32 port)
{
	struct evtchn_status s;
	s64 rc = evtchn_get_status(port, &s);
	CHECK(rc == 0, "status of port %u: %s", port, errno_name(rc));
	return s.status;
}

static void unbound(void)
{
	struct evtchn_status s;
	u32 a, b, none;
	u16 self = own_domid();

	EXPECT(alloc(DOMID_SELF, DOMID_SELF, &a), 0);
	EXPECT(alloc(DOMID_NONE, DOMID_SELF, &none), -XEN_ESRCH);
	if (self != 0 && self != DOMID_SELF)
		EXPECT(alloc(0, DOMID_SELF, &none), -XEN_EPERM);
	EXPECT(evtchn_get_status(a, &s), 0);
	EQUAL(s.status, EVTCHNSTAT_unbound);
	EQUAL(s.vcpu, 0);
	if (self != DOMID_SELF)
		EQUAL(s.unbound_dom, self);
	EXPECT(evtchn_send(a), 0); /* nobody hears it */
	CHECK(!evtchn_pending(a), "a send on an unbound port sets its own bit");

	/* The lowest free port comes first. */
	EXPECT(alloc(DOMID_SELF, 0, &b), 0);
	CHECK(b > a, "second port %u after %u", b, a);
	EXPECT(evtchn_close(a), 0);
	EQUAL(state(a), EVTCHNSTAT_closed);
	EXPECT(alloc(DOMID_SELF, DOMID_SELF, &none), 0);
	EQUAL(none, a);

	/* Kept for domain 0: we may not bind it, unless that is us. */
	if (self != 0)
		EXPECT(interdomain(DOMID_SELF, b, &none), -XEN_EINVAL);
	EXPECT(bind_vcpu(a, 0), 0);
	EXPECT(bind_vcpu(a, MAX_CPUS + 1000), -XEN_ENOENT);
	EXPECT(bind_vcpu(TOO_BIG, MAX_CPUS + 1000), -XEN_ENOENT);
	EXPECT(bind_vcpu(TOO_BIG, 0), -XEN_EINVAL);
	EXPECT(evtchn_close(a), 0);
	EXPECT(evtchn_close(b), 0);
	EXPECT(evtchn_close(b), -XEN_EINVAL);
	EXPECT(evtchn_close(0), -XEN_EINVAL);
	EXPECT(evtchn_close(TOO_BIG), -XEN_EINVAL);
}

static void loopback(void)
{
	struct evtchn_status s;
	u32 a, b, c;

	EXPECT(alloc(DOMID_SELF, DOMID_SELF, &a), 0);
	EXPECT(interdomain(DOMID_NONE, a, &b), -XEN_ESRCH);
	EXPECT(interdomain(DOMID_SELF, TOO_BIG, &b), -XEN_EINVAL);
	EXPECT(interdomain(DOMID_SELF, 0, &b), -XEN_EINVAL);
	EXPECT(interdomain(DOMID_SELF, a, &b), 0);
	/* A notification may have come before the binding: the binder is told. */
	CHECK(evtchn_pending(b), "bind_interdomain does not set its own port pending");
	CHECK(!evtchn_pending(a), "bind_interdomain sets the other port pending");
	EXPECT(evtchn_get_status(a, &s), 0);
	EQUAL(s.status, EVTCHNSTAT_interdomain);
	EQUAL(s.interdomain.port, b);
	EXPECT(interdomain(DOMID_SELF, a, &c), -XEN_EINVAL); /* taken */
	/* A port that would be its own peer: c is the next to be given out. */
	EXPECT(alloc(DOMID_SELF, DOMID_SELF, &c), 0);
	EXPECT(evtchn_close(c), 0);
	u32 d;
	EXPECT(interdomain(DOMID_SELF, c, &d), -XEN_EINVAL);

	evtchn_clear(b);
	EXPECT(evtchn_send(a), 0);
	CHECK(evtchn_pending(b) && !evtchn_pending(a), "a send sets the peer's bit, not its own");
	EXPECT(evtchn_send(b), 0);
	CHECK(evtchn_pending(a), "the send back is lost");
	/* One end closed: the other is unbound again, and what was pending on
	 * the closed one is gone. */
	EXPECT(evtchn_close(b), 0);
	CHECK(!evtchn_pending(b), "a closed port is still pending");
	EQUAL(state(a), EVTCHNSTAT_unbound);
	EXPECT(evtchn_send(a), 0);
	EXPECT(interdomain(DOMID_SELF, a, &b), 0);
	EXPECT(evtchn_close(a), 0);
	EXPECT(evtchn_close(b), 0);
}

static void virqs(void)
{
	struct evtchn_status s;
	u32 a, b;

	EXPECT(virq(NR_VIRQS, 0, &a), -XEN_EINVAL);
	EXPECT(virq(~0u, 0, &a), -XEN_EINVAL);
	EXPECT(virq(VIRQ_TIMER, MAX_CPUS + 1000, &a), -XEN_ENOENT);
	if (cpus > 1)
		EXPECT(virq(VIRQ_CONSOLE, 1, &a), -XEN_EINVAL); /* global: vCPU 0 only */
	EXPECT(virq(VIRQ_TIMER, 0, &a), 0);
	EXPECT(virq(VIRQ_TIMER, 0, &b), -XEN_EEXIST);
	EXPECT(evtchn_get_status(a, &s), 0);
	EQUAL(s.status, EVTCHNSTAT_virq);
	EQUAL(s.virq, VIRQ_TIMER);
	EXPECT(evtchn_send(a), -XEN_EINVAL);
	EXPECT(bind_vcpu(a, 0), -XEN_EINVAL);
	EXPECT(evtchn_close(a), 0);
	EXPECT(virq(VIRQ_TIMER, 0, &b), 0);
	EXPECT(evtchn_close(b), 0);
	if (cpus > 1) {
		EXPECT(virq(VIRQ_DEBUG, 1, &a), 0);
		EXPECT(evtchn_get_status(a, &s), 0);
		EQUAL(s.vcpu, 1);
		EXPECT(evtchn_close(a), 0);
	}
}

static void ipis(void)
{
	struct evtchn_status s;
	u32 a;

	EXPECT(ipi(MAX_CPUS + 1000, &a), -XEN_ENOENT);
	EXPECT(ipi(cpus - 1, &a), 0);
	EXPECT(evtchn_get_status(a, &s), 0);
	EQUAL(s.status, EVTCHNSTAT_ipi);
	EQUAL(s.vcpu, cpus - 1);
	EXPECT(bind_vcpu(a, 0), -XEN_EINVAL);
	EXPECT(evtchn_send(a), 0);
	CHECK(evtchn_pending(a), "IPI not pending");
	EXPECT(evtchn_close(a), 0);
	EXPECT(evtchn_send(a), -XEN_EINVAL);
	EXPECT(evtchn_send(0), -XEN_EINVAL);
	EXPECT(evtchn_send(TOO_BIG), -XEN_EINVAL);
	EXPECT(evtchn_send(EVTCHN_PORTS), -XEN_EINVAL);
	EXPECT(evtchn_unmask(a), 0); /* closed, but in range */
	EXPECT(evtchn_unmask(TOO_BIG), -XEN_EINVAL);
}

static void others(void)
{
	struct evtchn_status s = {.dom = DOMID_NONE, .port = 1};
	struct evtchn_bind_pirq p = {.pirq = 100000};
	struct evtchn_set_priority prio = {.port = 1, .priority = 16};
	struct evtchn_init_control c = {.gfn = 0, .offset = 4, .vcpu = 0};

	EXPECT(evtchn_op(EVTCHNOP_status, &s), -XEN_ESRCH);
	EXPECT(evtchn_get_status(TOO_BIG, &s), -XEN_EINVAL);
	EQUAL(state(0), EVTCHNSTAT_closed);
	EXPECT(evtchn_op(EVTCHNOP_bind_pirq, &p), -XEN_EINVAL);
	/* Without FIFO channels: ENOSYS for all of it. */
	EXPECT2(evtchn_op(EVTCHNOP_set_priority, &prio), -XEN_EINVAL, -XEN_ENOSYS);
	EXPECT2(evtchn_op(EVTCHNOP_init_control, &c), -XEN_EINVAL, -XEN_ENOSYS);
	c.offset = 0;
	c.vcpu = MAX_CPUS + 1000;
	EXPECT2(evtchn_op(EVTCHNOP_init_control, &c), -XEN_ENOENT, -XEN_ENOSYS);
	EXPECT(evtchn_op(99, &s), -XEN_ENOSYS);
	for (u32 cmd = EVTCHNOP_bind_interdomain; cmd <= EVTCHNOP_reset; cmd++)
		check_rc(__LINE__, "an operation with a bad pointer", evtchn_op(cmd, BAD_POINTER), -XEN_EFAULT);
	/* Xen's own page walk drops the upper bits; a fault is the sound answer. */
	for (u32 cmd = EVTCHNOP_bind_interdomain; cmd <= EVTCHNOP_reset && !arg_number("realxen", 0); cmd += 3)
		check_rc(__LINE__, "an operation with a non-canonical pointer", evtchn_op(cmd, NONCANONICAL), -XEN_EFAULT);
}

static void exhaust(void)
{
	u32 port, n = 0;
	s64 rc;

	while ((rc = alloc(DOMID_SELF, DOMID_SELF, &port)) == 0 && n < EVTCHN_PORTS) {
		CHECK(port > 0 && port < EVTCHN_PORTS, "port %u", port);
		n++;
	}
	printf("%u ports, then %s\n", n, errno_name(rc));
	EQUAL(rc, -XEN_ENOSPC);
	CHECK(n >= 1000, "only %u ports", n);
	/* Whatever was freed is what comes next. */
	EXPECT(evtchn_close(700), 0);
	EXPECT(evtchn_close(800), 0);
	EXPECT(alloc(DOMID_SELF, DOMID_SELF, &port), 0);
	EQUAL(port, 700);
	EXPECT(evtchn_close(700), 0);
}

static void reset(void)
{
	struct evtchn_reset r = {DOMID_NONE};
	u32 a, b;

	EXPECT(evtchn_op(EVTCHNOP_reset, &r), -XEN_ESRCH);
	EXPECT(alloc(DOMID_SELF, DOMID_SELF, &a), 0);
	EXPECT(virq(VIRQ_TIMER, 0, &b), 0);
	r.dom = DOMID_SELF;
	EXPECT(evtchn_op(EVTCHNOP_reset, &r), 0);
	EQUAL(state(a), EVTCHNSTAT_closed);
	EQUAL(state(b), EVTCHNSTAT_closed);
	EXPECT(virq(VIRQ_TIMER, 0, &b), 0);
}

void test_main(void)
{
	shared_info_init();
	unbound();
	loopback();
	virqs();
	ipis();
	others();
	if (arg_number("exhaust", 0))
		exhaust();
	reset();
}
