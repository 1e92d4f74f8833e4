// SPDX-License-Identifier: Apache-2.0

// Package acpi builds the ACPI tables of the guest: RSDP, XSDT, FADT, MADT
// and DSDT (ACPI specification 6.3).
//
// The machine is a hardware-reduced ACPI platform: it has no SCI, no PM1 or
// GPE blocks, no PM timer and no firmware control structure. What an operating
// system needs is in the tables themselves: the processors and the I/O APIC in
// the MADT, the reset register, sleep registers for power off (state S5 only)
// in the FADT, and the serial ports and the clock with their resources in the
// DSDT. Devices that guests would otherwise probe for slowly (8042, VGA) are
// declared absent.
//
// The ACPI processor UID equals the vCPU number, because Xen guests take it
// for the vCPU's id; the APIC id may differ from it.
//
// # Concurrency
//
// Build is a pure function.
package acpi
