// SPDX-License-Identifier: Apache-2.0
// The xenstore ring: reads, writes, directories, watches, transactions.
#include "guest.h"

static char v[XS_PAYLOAD_MAX + 1];

static bool listed(const char *names, s64 n, const char *name)
{
	for (const char *p = names; p < names + n; p += strlen(p) + 1)
		if (!strcmp(p, name))
			return true;
	return false;
}

static void expect_error(const char *what, s64 rc, const char *name)
{
	CHECK(rc < 0 && !strcmp(v, name), "%s: %s, want %s", what, rc < 0 ? v : "success", name);
}

static void read_write(void)
{
	char domid[16];

	CHECK(xs_read(0, "domid", domid, sizeof(domid)) > 0, "no domid");
	snprintf(v, sizeof(v), "%u", own_domid());
	CHECK(own_domid() == DOMID_SELF || !strcmp(domid, v), "domid %s in the store, %s by CPUID", domid, v);
	CHECK(xs_read(0, "name", v, sizeof(v)) > 0, "no name: %s", v);
	printf("domid %s, name %s\n", domid, v);

	CHECK(xs_write(0, "data/guest", "hello") >= 0, "write of data/guest");
	CHECK(xs_read(0, "data/guest", v, sizeof(v)) == 5 && !strcmp(v, "hello"), "read back '%s'", v);
	CHECK(xs_write(0, "data/guest", "") >= 0, "an empty value is refused");
	CHECK(xs_read(0, "data/guest", v, sizeof(v)) == 0, "empty value reads '%s'", v);
	CHECK(xs_write(0, "data/dir/a", "1") >= 0 && xs_write(0, "data/dir/b", "2") >= 0, "writes below data/dir");
	s64 n = xs_directory(0, "data/dir", v, sizeof(v));
	CHECK(n == 4 && listed(v, n, "a") && listed(v, n, "b"), "data/dir lists %ld bytes '%s'", n, v);
	CHECK(xs_mkdir(0, "data/empty") >= 0, "mkdir");
	EQUAL(xs_directory(0, "data/empty", v, sizeof(v)), 0);
	expect_error("read of nothing", xs_read(0, "data/none", v, sizeof(v)), "ENOENT");
	expect_error("read of a bad path", xs_read(0, "data//x", v, sizeof(v)), "EINVAL");
	expect_error("write outside", xs_request(XS_WRITE, 0, "/tool/x\0y", 9, v, sizeof(v)), "EACCES");
	CHECK(xs_rm(0, "data/dir") >= 0, "rm of a directory");
	expect_error("read of what was removed", xs_read(0, "data/dir/a", v, sizeof(v)), "ENOENT");
	expect_error("an unknown request", xs_request(100, 0, "", 1, v, sizeof(v)), "ENOSYS");
	/* A long value, many times round the ring. */
	static char big[2000];
	memcpy(big, "data/big", 9);
	memset(big + 9, 'z', sizeof(big) - 9);
	CHECK(xs_request(XS_WRITE, 0, big, sizeof(big), v, sizeof(v)) >= 0, "a long write: %s", v);
	EQUAL(xs_read(0, "data/big", v, sizeof(v)), sizeof(big) - 9);
}

static void watches(void)
{
	char e[256];

	CHECK(xs_watch("data/w", "tok") >= 0, "watch");
	/* It fires once at the start. */
	if (CHECK(xs_watch_event(e, sizeof(e), LONG_MS), "no first event"))
		CHECK(!strcmp(e, "data/w") && !strcmp(e + strlen(e) + 1, "tok"), "first event %s %s", e, e + strlen(e) + 1);
	CHECK(xs_write(0, "data/w/below", "x") >= 0, "write under a watch");
	if (CHECK(xs_watch_event(e, sizeof(e), LONG_MS), "no event for a write below"))
		CHECK(!strcmp(e, "data/w/below"), "event for %s", e);
	CHECK(xs_write(0, "data/other", "x") >= 0, "write elsewhere");
	CHECK(xs_rm(0, "data/w") >= 0, "rm under a watch");
	if (CHECK(xs_watch_event(e, sizeof(e), LONG_MS), "no event for a removal"))
		CHECK(!strncmp(e, "data/w", 6), "event for %s", e);
	CHECK(xs_unwatch("data/w", "tok") >= 0, "unwatch");
	while (xs_watch_event(e, sizeof(e), 5))
		;
	CHECK(xs_write(0, "data/w", "x") >= 0, "write after unwatch");
	CHECK(!xs_watch_event(e, sizeof(e), 20), "an event after unwatch: %s", e);
}

static void transactions(void)
{
	u32 t = xs_transaction_start();
	if (!CHECK(t != 0, "no transaction"))
		return;
	CHECK(xs_write(0, "data/t", "old") >= 0, "write outside");
	CHECK(xs_transaction_end(t, false) >= 0, "abort");

	t = xs_transaction_start();
	CHECK(xs_write(t, "data/t", "new") >= 0, "write inside");
	CHECK(xs_read(t, "data/t", v, sizeof(v)) == 3 && !strcmp(v, "new"), "inside: %s", v);
	CHECK(xs_read(0, "data/t", v, sizeof(v)) == 3 && !strcmp(v, "old"), "outside: %s", v);
	CHECK(xs_transaction_end(t, false) >= 0, "abort");
	CHECK(xs_read(0, "data/t", v, sizeof(v)) == 3 && !strcmp(v, "old"), "after abort: %s", v);

	t = xs_transaction_start();
	CHECK(xs_write(t, "data/t", "new") >= 0, "write inside");
	CHECK(xs_transaction_end(t, true) >= 0, "commit");
	CHECK(xs_read(0, "data/t", v, sizeof(v)) == 3 && !strcmp(v, "new"), "after commit: %s", v);

	/* Read in a transaction, changed outside: the commit says so. */
	t = xs_transaction_start();
	xs_read(t, "data/t", v, sizeof(v));
	CHECK(xs_write(t, "data/t2", "x") >= 0, "write inside");
	CHECK(xs_write(0, "data/t", "mine") >= 0, "write outside");
	CHECK(xs_transaction_end(t, true) < 0, "a conflicting commit went through");
	CHECK(xs_read(0, "data/t2", v, sizeof(v)) < 0, "a failed commit left something");
	CHECK(xs_transaction_end(12345, true) < 0, "an unknown transaction ended well");
}

void test_main(void)
{
	upcall_start();
	const char *why = xs_init();
	if (why)
		skip("%s", why);
	read_write();
	watches();
	transactions();
}
