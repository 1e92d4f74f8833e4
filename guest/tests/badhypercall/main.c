// SPDX-License-Identifier: Apache-2.0
// Hypercalls with random numbers and arguments, from a generator with seed= (1),
// count= (300) of them. Whatever they answer, the guest must go on: at the end
// time passes, the page works, and the verdict is PASS.
//   trace=1  print each call before it is made
#include "guest.h"

static u64 state;

/* Knuth's MMIX multiplier; the low bits are poor, so the high half is used. */
static u32 random(void)
{
	state = state * 6364136223846793005ul + 1442695040888963407ul;
	return state >> 33;
}

static u8 scratch[2][4096] ALIGNED(4096);

static u64 argument(void)
{
	static const u64 odd[] = {0, 1, 2, 63, 64, 128, 4095, 4096, 0x7ff0, 0x7ff1, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
				  ~0ul, ~0ul - 7, 1ul << 63, 1ul << 47, 0x8000000000000000ul + 8};
	switch (random() % 8) {
	case 0:
		return odd[random() % ARRAY_SIZE(odd)];
	case 1:
		return (u64)BAD_POINTER;
	case 2:
	case 3:
		return (u64)scratch[0] + random() % 4096;
	case 4:
		return (u64)scratch[0] + 4096 - random() % 32; /* across */
	case 5:
		return random() % 48;
	case 6:
		return (u64)random() << 32 | random();
	default:
		return (u64)WINDOW(SLOT_TEST) + 4096 - random() % 32; /* into nothing */
	}
}

/* What would end the guest or take its own memory away on purpose is left out;
 * everything else must be survived. */
static bool allowed(u64 nr, const u64 *a)
{
	switch (nr) {
	case HYPERCALL_sched_op:
		/* block, shutdown and its code, poll, remote shutdown, watchdog */
		return (u32)a[0] == SCHEDOP_yield || (u32)a[0] > 7;
	case HYPERCALL_memory_op:
		/* anything that changes the physmap may hit this image */
		return (a[0] & 63) == XENMEM_memory_map || (a[0] & 63) == XENMEM_maximum_ram_page || (a[0] & 63) == XENMEM_maximum_gpfn ||
		       (a[0] & 63) == XENMEM_current_reservation || (a[0] & 63) > 28;
	case HYPERCALL_vcpu_op:
		return (u32)a[0] != VCPUOP_down || (u32)a[1] != 0;
	case HYPERCALL_multicall:
		return (u32)a[1] == 0 || a[0] == (u64)BAD_POINTER; /* it could hold any of the above */
	case HYPERCALL_grant_table_op:
		/* so many operations take as long as they take */
		return (u32)a[2] <= 64;
	case HYPERCALL_hvm_op:
		/* an upcall by the vector of an exception looks like one */
		return (u32)a[0] != HVMOP_set_evtchn_upcall_vector && (u32)a[0] != HVMOP_set_param;
	case HYPERCALL_console_io:
		return false; /* floods the console */
	default:
		return true;
	}
}

static void ignore(struct frame *f) { (void)f; }

/* A copy of the stub that lets any RAX through is in every hypercall page. */
static void call(void *arg)
{
	u64 *a = arg;
	a[7] = call_page(hypercall_page + STUB_AFTER_MOV, a[6], a);
}

void test_main(void)
{
	static const u8 numbers[] = {12, 12, 13, 15, 17, 20, 21, 24, 24, 24, 29, 32, 32, 32, 32, 33, 34, 34, 36, 39, 40, 41, 42};
	u32 count = arg_number("count", 300), made = 0, good = 0;
	u64 a[8];

	state = arg_number("seed", 1) * 2654435761u + 12345;
	upcall_start();
	trap_handler(2, ignore); /* send_nmi may strike */
	window_map(SLOT_TEST, (u64)scratch[1], PTE_RW);
	window_map(SLOT_TEST + 1, 0, 0);
	for (u32 i = 0; i < count; i++) {
		for (u32 k = 0; k < 8192; k += 64 + random() % 512)
			*(u64 *)((u8 *)scratch + k / 8 * 8) = argument();
		for (u32 k = 0; k < 6; k++)
			a[k] = argument();
		a[6] = random() % 8 ? numbers[random() % sizeof(numbers)] : argument();
		if (random() % 4)
			a[0] = random() % 32; /* a likely command */
		if (a[6] == HYPERCALL_memory_op && random() % 2)
			a[0] = XENMEM_memory_map;
		if (!allowed(a[6], a))
			continue;
		if (arg_number("trace", 0))
			printf("%u: 0x%lx(0x%lx, 0x%lx, 0x%lx, 0x%lx, 0x%lx)\n", i, a[6], a[0], a[1], a[2], a[3], a[4]);
		made++;
		int vector = catch_trap(call, a);
		if (vector != NO_TRAP) {
			check_failed(__LINE__, "call %u: exception %d", i, vector);
			return;
		}
		good += (s64)a[7] >= 0;
	}
	/* Nothing may be left switched off. */
	upcall_set(upcall_method);
	sleep_ms(2);
	EXPECT(xen_version(XENVER_pagesize, NULL), 4096);
	printf("%u calls, %u succeeded\n", made, good);
	CHECK(made > count / 4, "only %u of %u calls made", made, count);
}
