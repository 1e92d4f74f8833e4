// SPDX-License-Identifier: Apache-2.0
// Checks and the verdict. A failed check is printed and counted; the test
// goes on. Any CPU may check; only ring 0 may print.
#pragma once
#include "types.h"

void check_failed(int line, const char *fmt, ...) PRINTF(2, 3);
void check_rc(int line, const char *what, s64 got, s64 want);
void check_eq(int line, const char *what, u64 got, u64 want);
extern u32 checks_done, checks_bad;

#define CHECK(cond, ...)                                      \
	({                                                    \
		bool ok_ = !!(cond);                          \
		locked_inc(&checks_done);                     \
		if (!ok_)                                     \
			check_failed(__LINE__, __VA_ARGS__);  \
		ok_;                                          \
	})
/* A hypercall's result by name: EXPECT(call, -XEN_EINVAL). */
#define EXPECT(call, want) check_rc(__LINE__, #call, (s64)(call), (want))
/* Where Xen versions differ: either answer is right. */
#define EXPECT2(call, want, or_want)                                        \
	({                                                                  \
		s64 rc_ = (s64)(call);                                      \
		check_rc(__LINE__, #call, rc_, rc_ == (or_want) ? rc_ : (want)); \
	})
#define EQUAL(got, want) check_eq(__LINE__, #got, (u64)(got), (u64)(want))

/* The last line and the end: one verdict line however many CPUs ask. */
void verdict(const char *result, const char *fmt, ...) PRINTF(2, 3);
NORETURN void finish(void);              /* PASS or FAIL by the checks, poweroff */
NORETURN void skip(const char *fmt, ...) PRINTF(1, 2);
NORETURN void fatal(const char *fmt, ...) PRINTF(1, 2);
NORETURN void end_guest(u32 reason);     /* SCHEDOP_shutdown, or a test machine's exit port */
const char *errno_name(s64 rc);          /* "-EINVAL", "0", "5" */
