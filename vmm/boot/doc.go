// SPDX-License-Identifier: Apache-2.0

// Package boot decides what is loaded into a guest and how its first vCPU
// starts.
//
// The one boot protocol is PVH (xen: docs/misc/pvh.pandoc and
// public/arch-x86/hvm/start_info.h): an ELF32 or ELF64 kernel with a Xen
// PHYS32_ENTRY note, entered in 32-bit protected mode without paging, EBX
// pointing to a start info block with command line, modules (initrds), memory
// map and ACPI root pointer. Kernels wrapped in gzip, and Linux bzImages, are
// unpacked by the host first (package unpack), so that the guest never runs its
// own unpacker and the kernel text can be looked at (see Stub).
//
// Plan computes everything from the parameters alone and touches no guest:
// its Image lists the layout (for a dry run) and can be written into a guest's
// memory any number of times, which is how a reset reloads it. Load is Plan
// and Write in one step. Inspect tells what a kernel file is without needing a
// guest at all.
//
// # Rules
//
// A kernel file is hostile input. Every header field, offset, size and
// address is checked, overflow included, before it is used; nothing is taken
// from debug/elf, which is not hardened. A file that cannot be booted gives an
// error that names the file, the thing, its value and, where there is one, the
// remedy. Nothing is ever cut short to make it fit.
//
// # Concurrency
//
// All functions may be called from any goroutine. An Image is read-only after
// Plan; Write may run concurrently with other reads of the same Image.
package boot
