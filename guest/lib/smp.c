// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

struct percpu percpu[MAX_CPUS];
u32 cpus = 1, cpus_online = 1;

static u8 stacks[MAX_CPUS][STACK_SIZE] ALIGNED(4096);
static u8 user_stacks[MAX_CPUS][STACK_SIZE] ALIGNED(4096);
static u8 ist_stacks[MAX_CPUS][IST_SIZE] ALIGNED(4096);

extern u64 gdt[];
extern struct percpu *ap_boot_cpu;
extern u8 *ap_boot_sp;
extern const u8 trampoline_start[], trampoline_end[];
void ap_entry64(void);

void percpu_init(u32 id)
{
	struct percpu *c = &percpu[id];
	u64 base = (u64)&c->tss, limit = sizeof(c->tss) - 1;

	c->self = c;
	c->id = id;
	c->user_sp = (u64)&user_stacks[id][STACK_SIZE];
	/* Until user_call sets its own: unused, as ring 3 is only entered there. */
	c->tss.rsp[0] = (u64)&stacks[id][STACK_SIZE];
	c->tss.ist[0] = (u64)&ist_stacks[id][IST_SIZE];
	c->tss.io_base = offsetof(struct tss, io_bitmap);
	memset(c->tss.io_bitmap, 0xff, sizeof(c->tss.io_bitmap));

	u64 *d = &gdt[SEL_TSS0 / 8 + 2 * id];
	d[0] = limit | (base & 0xffffff) << 16 | 0x89ul << 40 | (base >> 24 & 0xff) << 56;
	d[1] = base >> 32;
	wrmsr(0xc0000101, (u64)c); /* GS base; the selector is null in both rings */
	trap_init_cpu();
	asm volatile("ltr %w0" ::"r"(SEL_TSS0 + 16 * id));
}

void smp_count(void)
{
	u32 found = acpi_parse();
	cpus = arg_number("cpus", found ? found : 1);
	if (cpus < 1 || cpus > MAX_CPUS)
		fatal("cpus=%u: this guest can use 1 to %u", cpus, MAX_CPUS);
	for (u32 i = 0; i < MAX_CPUS; i++)
		percpu[i].apic_id = acpi_apic_id(i);
}

/* The APs' main: waits in HLT for work. */
void ap_main(struct percpu *c)
{
	percpu_init(c - percpu);
	apic_init();
	c->apic_id = apic_id(); /* tables may be wrong */
	c->online = true;
	mfence();
	apic_ipi(0, VEC_WAKE);
	for (;;) {
		cli();
		void (*fn)(void *) = c->work;
		if (!fn) {
			sti_hlt();
			continue;
		}
		sti();
		fn(c->work_arg);
		c->work = NULL;
		mfence();
		apic_ipi(0, VEC_WAKE);
	}
}

static bool is_online(void *c) { return READ_ONCE(((struct percpu *)c)->online); }
static bool work_done(void *c) { return READ_ONCE(((struct percpu *)c)->work) == NULL; }

s64 smp_initialise(u32 cpu)
{
	struct vcpu_hvm_context ctx;

	memset(&ctx, 0, sizeof(ctx));
	ctx.mode = VCPU_HVM_MODE_64B;
	ctx.rip = (u64)ap_entry64;
	ctx.rdi = (u64)&percpu[cpu];
	ctx.rsp = (u64)&stacks[cpu][STACK_SIZE];
	ctx.rflags = 2;
	ctx.cr0 = read_cr0();
	ctx.cr3 = read_cr3();
	ctx.cr4 = read_cr4();
	ctx.efer = rdmsr(EFER_MSR);
	return vcpu_op(VCPUOP_initialise, cpu, &ctx);
}

static void start_by_sipi(u32 cpu)
{
	if (!is_ram(TRAMPOLINE, PAGE_SIZE) && memory_map_entries)
		fatal("no RAM at 0x%x for the real-mode start of APs", TRAMPOLINE);
	memcpy((void *)TRAMPOLINE, trampoline_start, trampoline_end - trampoline_start);
	ap_boot_cpu = &percpu[cpu];
	ap_boot_sp = &stacks[cpu][STACK_SIZE];
	mfence();
	apic_init_sipi(cpu, TRAMPOLINE >> PAGE_SHIFT);
}

bool smp_start_one(u32 cpu)
{
	if (percpu[cpu].online)
		return true;
	if (!hypercall_ready || arg_number("sipi", 0)) {
		start_by_sipi(cpu);
	} else {
		s64 rc = smp_initialise(cpu);
		if (rc != 0 && rc != -XEN_EEXIST)
			fatal("VCPUOP_initialise %u: %s", cpu, errno_name(rc));
		rc = vcpu_op(VCPUOP_up, cpu, NULL);
		if (rc != 0)
			fatal("VCPUOP_up %u: %s", cpu, errno_name(rc));
	}
	if (!wait_for(is_online, &percpu[cpu], LONG_MS))
		return false;
	cpus_online++;
	return true;
}

void smp_start(void)
{
	for (u32 i = 1; i < cpus; i++)
		if (!smp_start_one(i))
			fatal("vCPU %u of %u did not start", i, cpus);
}

void smp_run(u32 cpu, void (*fn)(void *), void *arg)
{
	struct percpu *c = &percpu[cpu];
	c->work_arg = arg;
	barrier();
	c->work = fn;
	mfence();
	apic_ipi(cpu, VEC_WORK);
}

void smp_wait(u32 cpu, u32 ms)
{
	if (!wait_for(work_done, &percpu[cpu], ms))
		fatal("vCPU %u did not finish its work in %u ms", cpu, ms);
}

void smp_call(u32 cpu, void (*fn)(void *), void *arg)
{
	if (cpu == this_cpu()->id) {
		fn(arg);
		return;
	}
	smp_run(cpu, fn, arg);
	smp_wait(cpu, LONG_MS);
}

void smp_all(void (*fn)(void *), void *arg)
{
	for (u32 i = 0; i < cpus_online; i++)
		smp_call(i, fn, arg);
}
