// SPDX-License-Identifier: Apache-2.0
// Takes every event the host throws at it and tells how many there were.
//   ports=FIRST,COUNT  host-connected ports; the first one is for control
//   moves=N            move shared_info between RAM and holes N times meanwhile
//   idle=hlt|spin      what CPUs do between events: halt, or loop in ring 3
//   self=N             no host: 8 loopback channels, N sends by vCPU 0
//   rebind=1           keep moving the ports to other vCPUs meanwhile
#include "guest.h"

static u32 first, count;
static volatile u32 ending;

static void on_event(u32 port)
{
	/* Only the first is the signal to end; nothing else is sent there. */
	if (port == first)
		ending = 1;
}

static bool is_ending(void *arg)
{
	(void)arg;
	return ending;
}

/* Ring 3: works until the end, as a guest that is never idle. */
static u64 spin(void *arg)
{
	(void)arg;
	while (!ending)
		pause();
	return 0;
}

/* Ring 3 for about arg microseconds. */
static u64 spin_us(void *arg)
{
	u64 end = rdtsc() + ns_to_tsc((u64)arg * 1000);
	while (!ending && (s64)(rdtsc() - end) < 0)
		pause();
	return 0;
}

static void spin_here(void *arg)
{
	(void)arg;
	user_call(spin, NULL);
}

/* Masked while it changes hands: an event that comes in between waits, and the
 * unmask delivers it to the new vCPU. */
static void rebind(u32 port, u32 vcpu)
{
	evtchn_mask(port);
	s64 rc = evtchn_bind_vcpu(port, vcpu);
	if (rc)
		fatal("bind_vcpu port %u to %u: %s", port, vcpu, errno_name(rc));
	evtchn_unmask_local(port);
}

static void spread(u32 shift)
{
	for (u32 i = 1; i < count; i++)
		rebind(first + i, (i + shift) % cpus_online);
}

#define SELF_PORTS 9
static u32 peer; /* the first of the sending ends */

static void open_own(void)
{
	for (u32 i = 0; i < SELF_PORTS; i++) {
		u32 p = evtchn_alloc_unbound(DOMID_SELF);
		peer = i ? peer : p;
	}
	for (u32 i = 0; i < SELF_PORTS; i++) {
		u32 p = evtchn_bind_interdomain(DOMID_SELF, peer + i);
		first = i ? first : p;
		evtchn_clear(p); /* the binding's own event */
	}
	count = SELF_PORTS;
}

/* A few sends; the one on the control port when all are made. */
static void send_some(u32 *left)
{
	for (u32 i = 0; i < 16 && *left; i++, --*left)
		evtchn_send(peer + 1 + *left % (SELF_PORTS - 1));
	if (!*left)
		evtchn_send(peer);
}

static bool anything_pending(void)
{
	for (u32 i = 0; i < count; i++)
		if (evtchn_pending(first + i))
			return true;
	return false;
}

void test_main(void)
{
	u64 ports[2];
	bool spinning = arg_is("idle", "spin");
	u32 moves = arg_number("moves", 0), moved = 0, shift = 0;

	u32 own = arg_number("self", 0);
	if (own)
		ports[0] = ports[1] = 1; /* chosen below */
	else if (arg_numbers("ports", ports, 2) != 2 || !ports[0] || !ports[1] || ports[0] + ports[1] > EVTCHN_PORTS)
		skip("no host ports: want ports=FIRST,COUNT");
	first = ports[0];
	count = ports[1];
	if (arg_is("upcall", "gsi"))
		cpus = 1; /* no other CPU would hear of its events */
	smp_start();
	upcall_start();
	if (own)
		open_own();
	evtchn_hook = on_event;

	evtchn_own(first, 0);
	evtchn_unmask_local(first);
	spread(0);
	if (spinning)
		for (u32 i = 1; i < cpus_online; i++)
			smp_run(i, spin_here, NULL);
	if (!own && evtchn_send(first))
		fatal("the control port %u cannot be sent to", first);

	if (moves && !shared_info_hole_gfn(0))
		fatal("moves=: the memory map leaves no hole");
	while (!ending || moved < moves) {
		bool busy = false;
		if (moved < moves) {
			/* RAM, hole, other RAM, other hole, ... */
			u32 k = moved / 2 % 4;
			shared_info_move(moved % 2 ? shared_info_ram_gfn(k) : shared_info_hole_gfn(k));
			moved++;
			busy = true;
		}
		if (arg_number("rebind", 0) && !ending) {
			spread(++shift);
			busy = true;
		}
		if (own) {
			send_some(&own);
			busy = own != 0;
		}
		if (spinning)
			user_call(busy ? spin_us : spin, (void *)500ul);
		else
			wait_for(is_ending, NULL, busy ? 1 : LONG_MS);
	}
	if (spinning)
		for (u32 i = 1; i < cpus_online; i++)
			smp_wait(i, LONG_MS);

	/* The host has stopped sending. Nothing may be left behind, masked or
	 * without its upcall. */
	do
		evtchn_scan_all();
	while (anything_pending());

	u64 total = 0;
	for (u32 i = 0; i < count; i++) {
		printf("STORM port=%u taken=%u\n", first + i, evtchn_count[first + i]);
		total += evtchn_count[first + i];
	}
	printf("STORM total=%lu upcalls=%u moves=%u cpus=%u\n", total, upcalls_total(), moved, cpus_online);
	/* The host ends when it has sent enough, maybe before the last move. */
	CHECK(!moves || moved, "shared_info has not moved once");
}
