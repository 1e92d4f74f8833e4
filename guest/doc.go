// SPDX-License-Identifier: Apache-2.0

// Package guest holds the test guests: small freestanding programs in C and
// assembly that enter through PVH, use the Xen ABI from ring 0, and end with
// one verdict line on the console:
//
//	VERDICT <name> PASS|FAIL|SKIP <reason>
//
// followed by SCHEDOP_shutdown. There is one directory per test under tests,
// common code in lib, and the built ELF images, under 64 KiB each, in bin,
// embedded into this package: a machine that runs them needs no compiler.
//
// Each guest reads its command line as space separated key=value words. All
// know cpus= (vCPUs to use; default: what the MADT lists), upcall=vector,
// callback or gsi (and gsi=, the pin), vcpuinfo=shared, sipi=1 (start
// vCPUs by INIT and SIPI rather than VCPUOP_initialise) and x2apic=0. The head
// of a test's main.c names the rest.
//
// Rules for writing one: what runs in ring 0 never waits in a loop (it halts, or
// goes to ring 3 by user_call), expected results are Xen's, counts stay small
// enough for hosts where a hypercall takes 100 µs.
//
// The package holds no state; everything in it may be used from any goroutine.
package guest
