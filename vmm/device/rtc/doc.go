// SPDX-License-Identifier: Apache-2.0

// Package rtc is the PC's real-time clock and CMOS memory (Motorola MC146818A
// data sheet; CMOS indexes as IBM and later PC firmware use them), without
// interrupts. The clock is never in the middle of an update: the time read
// through it is consistent as long as the host's second does not change
// between two registers, which the guest detects as on hardware by reading
// again.
//
// The guest may set the clock: its offset to the host's clock is kept.
//
// # Concurrency
//
// Accesses may come from several threads; the index register is one for the
// machine, as on a PC.
package rtc
