// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

u32 checks_done, checks_bad;
static char first_failure[160];

#define MAX_REPORTED 20

void check_failed(int line, const char *fmt, ...)
{
	char text[160];
	va_list ap;
	va_start(ap, fmt);
	int n = snprintf(text, sizeof(text), "line %d: ", line);
	vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	va_end(ap);

	if (!checks_bad)
		memcpy(first_failure, text, sizeof(text));
	locked_inc(&checks_bad);
	if (checks_bad <= MAX_REPORTED)
		printf("CHECK %s %s\n", test_name, text);
}

const char *errno_name(s64 rc)
{
	static const struct {
		s64 value;
		const char *name;
	} names[] = {
		{XEN_EPERM, "-EPERM"},   {XEN_ENOENT, "-ENOENT"}, {XEN_ESRCH, "-ESRCH"},
		{XEN_ENXIO, "-ENXIO"},   {XEN_E2BIG, "-E2BIG"},   {XEN_EAGAIN, "-EAGAIN"},
		{XEN_ENOMEM, "-ENOMEM"}, {XEN_EACCES, "-EACCES"}, {XEN_EFAULT, "-EFAULT"},
		{XEN_EBUSY, "-EBUSY"},   {XEN_EEXIST, "-EEXIST"}, {XEN_EINVAL, "-EINVAL"},
		{XEN_ENOSPC, "-ENOSPC"}, {XEN_ERANGE, "-ERANGE"}, {XEN_ENOSYS, "-ENOSYS"},
		{XEN_ENODATA, "-ENODATA"}, {XEN_EOPNOTSUPP, "-EOPNOTSUPP"},
	};
	static char number[24]; /* a race only spoils a failure's text */
	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		if (rc == -names[i].value)
			return names[i].name;
	snprintf(number, sizeof(number), "%ld", rc);
	return number;
}

void check_rc(int line, const char *what, s64 got, s64 want)
{
	char a[24], b[24];
	locked_inc(&checks_done);
	if (got == want)
		return;
	snprintf(a, sizeof(a), "%s", errno_name(got));
	snprintf(b, sizeof(b), "%s", errno_name(want));
	check_failed(line, "%s = %s, want %s", what, a, b);
}

void check_eq(int line, const char *what, u64 got, u64 want)
{
	locked_inc(&checks_done);
	if (got != want)
		check_failed(line, "%s = 0x%lx, want 0x%lx", what, got, want);
}

void verdict(const char *result, const char *fmt, ...)
{
	static u32 given;
	char reason[200];
	va_list ap;

	if (xchg32(&given, 1))
		return;
	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	printf("VERDICT %s %s %s\n", test_name, result, reason);
}

/* Not a failure of the test: it says something about the host. */
static void note_early_wakes(void)
{
	u32 n = 0;
	for (u32 i = 0; i < MAX_CPUS; i++)
		n += percpu[i].early_wakes;
	if (n)
		printf("NOTE %u interrupts came between STI and HLT\n", n);
}

void finish(void)
{
	note_early_wakes();
	if (checks_bad)
		verdict("FAIL", "%u of %u checks, first: %s", checks_bad, checks_done, first_failure);
	else
		verdict("PASS", "%u checks", checks_done);
	end_guest(SHUTDOWN_poweroff);
}

void skip(const char *fmt, ...)
{
	char reason[160];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	verdict("SKIP", "%s", reason);
	end_guest(SHUTDOWN_poweroff);
}

void fatal(const char *fmt, ...)
{
	char reason[160];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
	verdict("FAIL", "%s", reason);
	end_guest(SHUTDOWN_poweroff);
}

void end_guest(u32 reason)
{
	if (hypercall_ready) {
		struct sched_shutdown s = {reason};
		hypercall2(HYPERCALL_sched_op, SCHEDOP_shutdown, (u64)&s);
	}
	/* No Xen: QEMU's isa-debug-exit at its default port. */
	outl(0x501, reason);
	cli();
	for (;;)
		asm volatile("hlt");
}
