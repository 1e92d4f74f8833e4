// SPDX-License-Identifier: Apache-2.0
#include "guest.h"
#include "ring.h"

struct console_page {
	u8 in[1024], out[2048];
	u32 in_cons, in_prod, out_cons, out_prod, connection;
};

static volatile struct console_page *page;
static struct ring in, out;
static u32 port;

const char *pvconsole_init(void)
{
	u64 pfn = 0, p = 0;

	if (hvm_get_param(HVM_PARAM_CONSOLE_PFN, &pfn) || pfn == 0 || pfn << PAGE_SHIFT >= 8ul << 30)
		return "no CONSOLE_PFN";
	if (hvm_get_param(HVM_PARAM_CONSOLE_EVTCHN, &p) || p == 0 || p >= EVTCHN_PORTS)
		return "no CONSOLE_EVTCHN";
	page = (void *)(pfn << PAGE_SHIFT);
	port = p;
	in = (struct ring){page->in, sizeof(page->in), &page->in_cons, &page->in_prod};
	out = (struct ring){page->out, sizeof(page->out), &page->out_cons, &page->out_prod};
	evtchn_own(port, 0);
	evtchn_unmask_local(port);
	return NULL;
}

static bool has_room(void *arg)
{
	(void)arg;
	return page->out_prod - page->out_cons < sizeof(page->out);
}
static bool is_empty(void *arg)
{
	(void)arg;
	return page->out_prod == page->out_cons;
}
static bool has_input(void *arg)
{
	(void)arg;
	return page->in_prod != page->in_cons;
}

bool pvconsole_write(const char *s, u64 n, u32 ms)
{
	while (n) {
		if (!wait_for(has_room, NULL, ms))
			return false;
		u32 k = ring_put(&out, s, n);
		s += k;
		n -= k;
		evtchn_send(port);
	}
	return true;
}

bool pvconsole_drained(u32 ms) { return wait_for(is_empty, NULL, ms); }

s64 pvconsole_line(char *line, u64 room, u32 ms)
{
	u64 n = 0;
	for (;;) {
		char c;
		if (!wait_for(has_input, NULL, ms))
			return -1;
		if (!ring_get(&in, &c, 1))
			continue;
		if (*in.prod == *in.cons)
			evtchn_send(port); /* there is room again */
		if (c == '\r' || c == '\n')
			break;
		if (n + 1 < room)
			line[n++] = c;
	}
	line[n] = 0;
	return n;
}
