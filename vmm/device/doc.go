// SPDX-License-Identifier: Apache-2.0

// Package device is the bus of the machine: which emulated device answers an
// access to an I/O port or to memory without RAM behind it. The devices are in
// packages of their own below it.
//
// # Rules
//
// A device is entered with an offset into its range and a slice of 1 to 8
// bytes that lies inside the range, never with more; it must answer any such
// access. Nothing answers: reads give all ones, writes are dropped, as on real
// hardware. An access that crosses the end of a range is split.
//
// Accesses allocate nothing and take no lock of the bus; a device locks its
// own state. No device may panic, block for long or grow without bound,
// whatever the guest does.
//
// # Concurrency
//
// Accesses may come from all vCPU threads at once, also while ranges are added
// or removed: they see the map as it was before or after.
package device
