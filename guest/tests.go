// SPDX-License-Identifier: Apache-2.0

package guest

// Test describes how to run one guest.
type Test struct {
	Name string // of the guest, as in Names
	Doc  string // one line
	Args string // command line of the plain run; cpus= is the runner's to add

	// CPUs is how many vCPUs the plain run wants.
	CPUs int

	// Variants are further runs worth making.
	Variants []Variant

	// Ends is what the guest ends with; EndsPoweroff for nearly all.
	Ends End

	// Host is what the runner must do meanwhile, HostNothing for nearly all.
	Host Host
}

// Variant is one more way to run a guest.
type Variant struct {
	Args string // the whole command line but cpus=
	CPUs int
	Ends End
}

// End is how a run ends after its verdict line.
type End int

// The ways a run ends. EndsNever has no verdict either.
const (
	EndsPoweroff End = iota
	EndsReboot
	EndsCrash
	EndsSuspend
	EndsWatchdog
	EndsSoftReset
	EndsTripleFault
	EndsNever
)

// Host says what a guest needs from its runner.
type Host int

// HostPorts (but not with self=): connect event channels, pass ports=FIRST,COUNT, wait for an event
// on the first, send at will on the others, then one on the first. HostConsole:
// type the line of expect= at the PV console once its banner is out.
const (
	HostNothing Host = iota
	HostPorts
	HostConsole
)

// Tests lists the guests, in the order in which a failure says most: what comes
// first is needed by what follows.
func Tests() []Test {
	var all []Test
	for _, group := range [][]Test{stateTests(), hypercallTests(), eventTests(), timeTests(), backendTests(), lifeTests()} {
		all = append(all, group...)
	}
	return all
}

func stateTests() []Test {
	return []Test{
		{Name: "selftest", Doc: "the guest library itself: exceptions, ring 3, CPUs, LAPIC", CPUs: 2},
		{Name: "halt", Doc: "an interrupt just before HLT wakes the CPU", CPUs: 1,
			Variants: []Variant{
				{Args: "by=event upcall=vector rounds=100", CPUs: 1}, {Args: "by=event upcall=callback rounds=100", CPUs: 1},
				{Args: "by=event upcall=gsi rounds=100", CPUs: 1},
			}},
		{Name: "boot", Doc: "PVH start state, start_info, memory map, command line, ACPI", CPUs: 1, Args: "token=abc",
			Variants: []Variant{{CPUs: 8}}},
		{Name: "ident", Doc: "CPUID leaves on every vCPU, hypercall page and its MSR", CPUs: 2,
			Variants: []Variant{{CPUs: 1}, {CPUs: 8}}},
		{Name: "smp", Doc: "vCPUs come up, run work and ring 3 together", CPUs: 4,
			Variants: []Variant{{Args: "sipi=1", CPUs: 4}, {Args: "x2apic=0", CPUs: 2}}},
	}
}

func hypercallTests() []Test {
	return []Test{
		{Name: "hypercall-version", Doc: "xen_version: every command and error", CPUs: 1},
		{Name: "hypercall-misc", Doc: "calling convention, pointers, ring 3, 32-bit code, multicall, unknown numbers", CPUs: 1,
			Variants: []Variant{{Args: "compat=0", CPUs: 1}}},
		{Name: "hypercall-memory", Doc: "memory_op: physmap, memory map, reservations", CPUs: 1},
		{Name: "hypercall-evtchn", Doc: "event_channel_op: binding rules, states, errors", CPUs: 2,
			Variants: []Variant{{Args: "exhaust=1", CPUs: 1}}},
		{Name: "hypercall-vcpu", Doc: "vcpu_op: life cycle, runstate, timers, vcpu_info, NMI", CPUs: 2},
		{Name: "hypercall-sched", Doc: "sched_op: yield, block, poll errors, watchdogs", CPUs: 1},
		{Name: "hypercall-hvm", Doc: "hvm_op: parameters and the upcall vector", CPUs: 1},
		{Name: "hypercall-grant", Doc: "grant_table_op: version, size, set-up, frames", CPUs: 1},
		{Name: "badhypercall", Doc: "random hypercalls are survived", CPUs: 1,
			Variants: []Variant{{Args: "seed=2", CPUs: 2}, {Args: "seed=3 count=1000", CPUs: 1}}},
	}
}

func eventTests() []Test {
	return []Test{
		{Name: "sharedinfo", Doc: "the shared page: contents survive moves between RAM and holes", CPUs: 1},
		{Name: "mask-unmask", Doc: "masked events wait, unmask raises them, the order of the steps", CPUs: 1,
			Variants: []Variant{{Args: "vcpuinfo=shared", CPUs: 1}}},
		{Name: "ipi", Doc: "event channel IPIs between all vCPUs", CPUs: 4},
		{Name: "interdomain", Doc: "a loopback channel: both ways, coalescing, rebinding", CPUs: 2},
		{Name: "poll", Doc: "SCHEDOP_poll: ready, woken, timed out", CPUs: 2},
		{Name: "upcall", Doc: "every vCPU gets its upcalls, from vCPU 0 and a neighbour", CPUs: 2, Args: "upcall=vector",
			Variants: []Variant{
				{Args: "upcall=vector", CPUs: 1}, {Args: "upcall=vector rounds=5", CPUs: 8},
				{Args: "upcall=vector vcpuinfo=shared", CPUs: 2},
				{Args: "upcall=callback", CPUs: 1}, {Args: "upcall=callback", CPUs: 2}, {Args: "upcall=callback rounds=5", CPUs: 8},
				{Args: "upcall=gsi", CPUs: 1}, {Args: "upcall=gsi", CPUs: 2},
			}},
		{Name: "storm", Doc: "takes and counts every event the host sends", CPUs: 2, Host: HostPorts,
			Variants: []Variant{
				{Args: "self=500 moves=10", CPUs: 2}, {Args: "moves=20", CPUs: 2}, {Args: "idle=spin", CPUs: 2}, {Args: "rebind=1", CPUs: 2},
				{Args: "vcpuinfo=shared moves=20", CPUs: 2}, {Args: "upcall=callback", CPUs: 2}, {Args: "upcall=gsi", CPUs: 1},
			}},
	}
}

func timeTests() []Test {
	return []Test{
		{Name: "wallclock", Doc: "pvclock on and across vCPUs, wall clock", CPUs: 2, Variants: []Variant{{CPUs: 8, Args: "rounds=10"}}},
		{Name: "virq-timer", Doc: "timers: never early, none lost, stopped when told", CPUs: 1},
		{Name: "runstate", Doc: "runstate by call and in memory", CPUs: 2},
	}
}

func backendTests() []Test {
	return []Test{
		{Name: "console", Doc: "the PV console ring: banner, bulk output, echo", CPUs: 1, Args: "bytes=8192",
			Host: HostConsole, Variants: []Variant{{Args: "expect=hello", CPUs: 1}}},
		{Name: "xenstore", Doc: "the xenstore ring: read, write, watch, transactions", CPUs: 1},
	}
}

func lifeTests() []Test {
	return []Test{
		{Name: "shutdown", Doc: "every shutdown code", CPUs: 1, Args: "code=poweroff",
			Variants: []Variant{
				{Args: "code=reboot", CPUs: 1, Ends: EndsReboot}, {Args: "code=crash", CPUs: 1, Ends: EndsCrash},
				{Args: "code=suspend", CPUs: 1, Ends: EndsSuspend}, {Args: "code=watchdog", CPUs: 1, Ends: EndsWatchdog},
				{Args: "code=soft_reset", CPUs: 1, Ends: EndsSoftReset}, {Args: "code=poweroff from=1", CPUs: 2},
			}},
		{Name: "triplefault", Doc: "ends by a triple fault", CPUs: 1, Ends: EndsTripleFault},
		{Name: "hang", Doc: "never ends: halted, or looping in ring 3", CPUs: 2, Args: "mode=hlt", Ends: EndsNever,
			Variants: []Variant{{Args: "mode=spin", CPUs: 2, Ends: EndsNever}}},
	}
}
