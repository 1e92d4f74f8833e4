// SPDX-License-Identifier: Apache-2.0
#include "guest.h"
#include "ring.h"

struct xs_page {
	u8 req[1024], rsp[1024];
	u32 req_cons, req_prod, rsp_cons, rsp_prod, features, connection, error;
};
struct xs_header {
	u32 type, req_id, tx_id, len;
};

static volatile struct xs_page *page;
static struct ring req, rsp;
static u32 port, next_id;

#define EVENTS 16
#define EVENT_SIZE 256
static char events[EVENTS][EVENT_SIZE];
static u32 event_first, event_count;

const char *xs_init(void)
{
	u64 pfn = 0, p = 0;

	if (hvm_get_param(HVM_PARAM_STORE_PFN, &pfn) || pfn == 0 || pfn == ~0ul)
		return "no STORE_PFN";
	if (hvm_get_param(HVM_PARAM_STORE_EVTCHN, &p) || p == 0 || p >= EVTCHN_PORTS)
		return "no STORE_EVTCHN";
	if (pfn << PAGE_SHIFT >= 8ul << 30)
		return "STORE_PFN beyond the identity map";
	page = (void *)(pfn << PAGE_SHIFT);
	port = p;
	req = (struct ring){page->req, sizeof(page->req), &page->req_cons, &page->req_prod};
	rsp = (struct ring){page->rsp, sizeof(page->rsp), &page->rsp_cons, &page->rsp_prod};
	evtchn_own(port, 0);
	evtchn_unmask_local(port);
	return NULL;
}

static bool can_put(void *arg)
{
	(void)arg;
	return page->req_prod - page->req_cons < sizeof(page->req);
}
static bool can_get(void *arg)
{
	(void)arg;
	return page->rsp_prod != page->rsp_cons;
}

static void send(const void *p, u32 n)
{
	while (n) {
		if (!wait_for(can_put, NULL, LONG_MS))
			fatal("xenstore: the request ring stays full");
		u32 k = ring_put(&req, p, n);
		p = (const char *)p + k;
		n -= k;
		evtchn_send(port);
	}
}

static bool receive(void *p, u32 n, u32 ms)
{
	while (n) {
		if (!wait_for(can_get, NULL, ms))
			return false;
		u32 k = ring_get(&rsp, p, n);
		p = (char *)p + k;
		n -= k;
		evtchn_send(port);
	}
	return true;
}

static void drop(u32 n)
{
	char c;
	while (n--)
		if (!receive(&c, 1, LONG_MS))
			fatal("xenstore: an answer ends early");
}

/* Takes one message: a watch event is stored, an answer is left to the caller. */
static bool header(struct xs_header *h, u32 ms)
{
	if (!receive(h, sizeof(*h), ms))
		return false;
	if (h->len > XS_PAYLOAD_MAX)
		fatal("xenstore: message of %u bytes", h->len);
	return true;
}

static void keep_event(u32 len)
{
	char *e = events[(event_first + event_count) % EVENTS];
	u32 k = len < EVENT_SIZE ? len : EVENT_SIZE;
	if (event_count == EVENTS)
		fatal("xenstore: more than %u watch events wait", EVENTS);
	memset(e, 0, EVENT_SIZE);
	if (!receive(e, k, LONG_MS))
		fatal("xenstore: a watch event ends early");
	drop(len - k);
	event_count++;
}

s64 xs_request(u32 type, u32 tx, const void *payload, u32 n, char *out, u32 room)
{
	struct xs_header h = {type, ++next_id, tx, n};

	send(&h, sizeof(h));
	send(payload, n);
	for (;;) {
		if (!header(&h, LONG_MS))
			fatal("xenstore: no answer to request type %u", type);
		if (h.type == XS_WATCH_EVENT) {
			keep_event(h.len);
			continue;
		}
		if (h.req_id != next_id || (h.type != type && h.type != XS_ERROR))
			fatal("xenstore: answer %u/%u to request %u/%u", h.type, h.req_id, type, next_id);
		u32 k = h.len < room - 1 ? h.len : room - 1;
		if (!receive(out, k, LONG_MS))
			fatal("xenstore: an answer ends early");
		out[k] = 0;
		drop(h.len - k);
		return h.type == XS_ERROR ? -1 : (s64)k;
	}
}

static char small[64];

s64 xs_read(u32 tx, const char *path, char *out, u32 room) { return xs_request(XS_READ, tx, path, strlen(path) + 1, out, room); }
s64 xs_directory(u32 tx, const char *path, char *out, u32 room) { return xs_request(XS_DIRECTORY, tx, path, strlen(path) + 1, out, room); }
s64 xs_rm(u32 tx, const char *path) { return xs_request(XS_RM, tx, path, strlen(path) + 1, small, sizeof(small)); }
s64 xs_mkdir(u32 tx, const char *path) { return xs_request(XS_MKDIR, tx, path, strlen(path) + 1, small, sizeof(small)); }

/* Two strings as one payload; the second with its NUL or without. */
static s64 pair(u32 type, u32 tx, const char *a, const char *b, bool nul)
{
	char buf[512];
	u64 x = strlen(a) + 1, y = strlen(b) + nul;
	if (x + y > sizeof(buf))
		fatal("xenstore: request of %lu bytes", x + y);
	memcpy(buf, a, x);
	memcpy(buf + x, b, y);
	return xs_request(type, tx, buf, x + y, small, sizeof(small));
}

s64 xs_write(u32 tx, const char *path, const char *value) { return pair(XS_WRITE, tx, path, value, false); }
s64 xs_watch(const char *path, const char *token) { return pair(XS_WATCH, 0, path, token, true); }
s64 xs_unwatch(const char *path, const char *token) { return pair(XS_UNWATCH, 0, path, token, true); }

u32 xs_transaction_start(void)
{
	u32 id = 0;
	if (xs_request(XS_TRANSACTION_START, 0, "", 1, small, sizeof(small)) < 0)
		return 0;
	for (char *p = small; *p >= '0' && *p <= '9'; p++)
		id = id * 10 + (*p - '0');
	return id;
}

s64 xs_transaction_end(u32 tx, bool commit)
{
	return xs_request(XS_TRANSACTION_END, tx, commit ? "T" : "F", 2, small, sizeof(small));
}

bool xs_watch_event(char *out, u32 room, u32 ms)
{
	struct xs_header h;
	if (!event_count) {
		if (!header(&h, ms))
			return false;
		if (h.type != XS_WATCH_EVENT)
			fatal("xenstore: answer %u that nobody asked for", h.type);
		keep_event(h.len);
	}
	memcpy(out, events[event_first], room < EVENT_SIZE ? room : EVENT_SIZE);
	event_first = (event_first + 1) % EVENTS;
	event_count--;
	return true;
}
