// SPDX-License-Identifier: Apache-2.0

// Package reset has the ports by which a guest ends itself: the keyboard
// controller's reset line (ports 0x60 and 0x64), the fast reset of system
// control port A (0x92), the reset control register (0xcf9), and the ACPI
// sleep registers, of which only power off (S5) exists.
//
// The keyboard controller has no keyboard and no mouse: it answers the few
// commands that firmware-like code waits on, so that nobody spins on a status
// bit, and nothing more.
//
// # Concurrency
//
// Accesses may come from several threads. The callback runs on the thread of
// the vCPU that made the access, outside the device's lock; it must not block.
package reset

// Func is told why the guest wants to end: a short name of the port used.
type Func func(how string)
