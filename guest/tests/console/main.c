// SPDX-License-Identifier: Apache-2.0
// The PV console ring: writes a banner, and with expect=TEXT waits for a line,
// writes it back, and checks that it is TEXT.
//   bytes=N  write N bytes of a counted pattern first (many times round the ring)
#include "guest.h"

void test_main(void)
{
	char want[64], line[256], out[80];

	upcall_start();
	const char *why = pvconsole_init();
	if (why)
		skip("%s", why);
	static const char banner[] = "PVCONSOLE ready\r\n";
	CHECK(pvconsole_write(banner, sizeof(banner) - 1, LONG_MS), "the backend does not take the banner");

	u64 bytes = arg_number("bytes", 0);
	for (u64 n = 0; n < bytes; n += 64) {
		/* 62 characters and the line's end, each line numbered. */
		memset(out, 'a' + n / 64 % 26, 62);
		snprintf(out, 12, "%09lu ", n / 64);
		out[10] = '-';
		out[62] = '\r';
		out[63] = '\n';
		if (!CHECK(pvconsole_write(out, 64, LONG_MS), "the backend stopped taking after %lu bytes", n))
			return;
	}
	if (arg_text("expect", want, sizeof(want))) {
		s64 n = pvconsole_line(line, sizeof(line), LONG_MS);
		if (CHECK(n >= 0, "no line came in")) {
			CHECK(!strcmp(line, want), "got the line '%s', want '%s'", line, want);
			snprintf(out, sizeof(out), "PVCONSOLE echo %s\r\n", line);
			CHECK(pvconsole_write(out, strlen(out), LONG_MS), "the backend does not take the echo");
		}
	}
	CHECK(pvconsole_drained(LONG_MS), "the backend does not empty the ring");
}
