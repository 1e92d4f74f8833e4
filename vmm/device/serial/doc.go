// SPDX-License-Identifier: Apache-2.0

// Package serial is a 16550A UART (National Semiconductor PC16550D data
// sheet) without line timing: a byte written is sent at once, a byte offered
// by the host is there at once, and the receive time-out is over at once.
//
// # Output
//
// Bytes go to the configured writer one by one, on the thread of the vCPU that
// wrote them. The writer should buffer; while it blocks, the vCPU does. In
// loopback mode nothing goes out.
//
// # Input
//
// Host input is never dropped for want of room: Input takes what fits,
// Line's Write waits until everything has gone in. Bytes are handed over only while the
// guest asserts RTS and is not in loopback mode, so that what is typed ahead
// is not lost when a driver probes the chip and clears its FIFO on start. A
// guest that resets the FIFO later loses what was in it, 16 bytes at most, as
// with the real chip.
//
// # Interrupts
//
// The line is a level: the callback gets true when an enabled interrupt
// becomes pending and false when none is left. It is not gated by OUT2, which
// some small guests do not set.
//
// # Concurrency
//
// Everything may be called from any goroutine. Callbacks and the writer run
// with the device's lock held and must not call back into the device.
package serial
