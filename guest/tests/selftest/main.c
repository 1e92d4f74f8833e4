// SPDX-License-Identifier: Apache-2.0
// The library itself: text, arguments, exceptions, ring 3, CPUs, the LAPIC.
// Needs no Xen.
#include "guest.h"

const bool test_without_xen = true;

static void text(void)
{
	char b[80];
	snprintf(b, sizeof(b), "%d|%5u|%-4x|%04x|%lx|%s|%c|%%", -7, 42u, 0xabu, 0x1fu, 0x123456789abcul, "xyz", '!');
	CHECK(!strcmp(b, "-7|   42|ab  |001f|123456789abc|xyz|!|%"), "printf made %s", b);
	CHECK(snprintf(b, 4, "abcdef") == 3 && !strcmp(b, "abc"), "printf ran past its room: %s", b);
	CHECK(!strcmp(errno_name(-22), "-EINVAL"), "errno name %s", errno_name(-22));
}

static void args(void)
{
	u64 n[4];
	char saved[sizeof(cmdline)];
	memcpy(saved, cmdline, sizeof(saved));
	memcpy(cmdline, "a=1 bb=0x20  ports=5,0x10,7 b=text", 35);
	EQUAL(arg_number("a", 0), 1);
	EQUAL(arg_number("bb", 0), 32);
	EQUAL(arg_number("cc", 9), 9);
	EQUAL(arg_numbers("ports", n, 4), 3);
	EQUAL(n[1], 16);
	CHECK(arg_is("b", "text") && !arg_is("b", "tex"), "b=text not found");
	memcpy(cmdline, saved, sizeof(saved));
}

static void touch(void *p) { (void)*(volatile u64 *)p; }
static void divide(void *p)
{
	asm volatile("div %%cl" ::"a"(1), "c"(*(u8 *)p) : "cc");
}
static u64 privileged(void *arg)
{
	(void)arg;
	read_cr3();
	return 0;
}
static void in_ring3(void *arg)
{
	(void)arg;
	user_call(privileged, NULL);
}

static void exceptions(void)
{
	u8 zero = 0;
	EQUAL(catch_trap(touch, BAD_POINTER), 14);
	EQUAL(this_cpu()->catch_cr2, (u64)BAD_POINTER);
	EQUAL(catch_trap(touch, NONCANONICAL), 13);
	EQUAL(catch_trap(divide, &zero), 0);
	EQUAL(catch_trap(in_ring3, NULL), 13);
	EQUAL(catch_trap(touch, &zero), NO_TRAP);
}

/* The selector itself may be the host's: ring 3 sees the processor as it is. */
static u64 add(void *arg)
{
	u16 cs;
	asm volatile("mov %%cs, %0" : "=r"(cs));
	return (cs & 3) == 3 && read_flags() & FLAGS_IF ? *(u64 *)arg + 1 : 0;
}

/* Ring 3: until this CPU's timer interrupt was taken. */
static u64 until_timer(void *arg)
{
	while (!((volatile struct percpu *)arg)->timer_fired)
		pause();
	return 1;
}

static void ring3(void)
{
	u64 v = 41;
	EQUAL(user_call(add, &v), 42);
	this_cpu()->timer_fired = false;
	apic_timer(1);
	EQUAL(user_call(until_timer, this_cpu()), 1);
	EQUAL(read_flags() & FLAGS_IF, 0);
}

/* Where the shadow of STI is kept no interrupt comes to the HLT: pretend. */
static void halting(void)
{
	struct percpu *c = this_cpu();
	struct frame f = {.vector = VEC_SPURIOUS, .cs = SEL_CODE64, .rip = (u64)sti_hlt_halt};
	trap(&f);
	EQUAL(f.rip, (u64)sti_hlt_halt + 1);
	trap(&f);
	EQUAL(f.rip, (u64)sti_hlt_halt + 1);
	EQUAL(*sti_hlt_halt, 0xf4);
	CHECK(c->early_wakes > 0, "not counted");
	c->early_wakes--;
}

static volatile u32 seen[MAX_CPUS];
static void mark(void *arg) { seen[this_cpu()->id] += (u64)arg; }

static void processors(void)
{
	smp_start();
	for (u32 i = 0; i < 3; i++)
		smp_all(mark, (void *)1);
	for (u32 i = 0; i < cpus; i++)
		CHECK(seen[i] == 3, "CPU %u ran its work %u times", i, seen[i]);
	printf("%u CPUs\n", cpus_online);
}

static void frame32(void)
{
	static u8 code[] = {0x8d, 0x04, 0x0b, 0x01, 0xd0, 0xc3}; /* lea (ebx,ecx); add edx; ret */
	u32 args[5] = {1, 2, 3};
	EQUAL(call_page32((u64)code, 0, args), 6);
}

void test_main(void)
{
	u64 t = rdtsc();
	text();
	args();
	exceptions();
	ring3();
	frame32();
	halting();
	sleep_ms(2);
	processors();
	CHECK(rdtsc() > t, "TSC stands still");
	CHECK(start_info.magic == START_MAGIC, "start_info magic 0x%x", start_info.magic);
	CHECK(acpi_problem == NULL || !start_info.rsdp, "ACPI: %s", acpi_problem);
	if (arg_number("fault", 0))
		touch(BAD_POINTER);
}
