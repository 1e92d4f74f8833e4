// SPDX-License-Identifier: Apache-2.0

package serial

// Ports is the size of the range to map a UART at.
const Ports = 8

// COM1 and COM2 are the usual places, with their ISA interrupts.
const (
	COM1    = 0x3f8
	COM1IRQ = 4
	COM2    = 0x2f8
	COM2IRQ = 3
)

// Register offsets. With LCR's divisor latch bit set, 0 and 1 are the divisor.
const (
	regData = 0 // RBR read, THR write, divisor low
	regIER  = 1 // divisor high
	regIIR  = 2 // FCR write
	regLCR  = 3
	regMCR  = 4
	regLSR  = 5
	regMSR  = 6
	regSCR  = 7
)

// Interrupt enable register.
const (
	ierRx    = 1 << 0
	ierTx    = 1 << 1
	ierLine  = 1 << 2
	ierModem = 1 << 3
	ierMask  = 0x0f
)

// Interrupt identification register, by falling priority.
const (
	iirLine    = 0x06
	iirRx      = 0x04
	iirTimeout = 0x0c
	iirTx      = 0x02
	iirModem   = 0x00
	iirNone    = 0x01
	iirFIFO    = 0xc0 // FIFOs are on
)

// FIFO control register.
const (
	fcrEnable  = 1 << 0
	fcrClearRx = 1 << 1
)

const lcrDivisor = 1 << 7

// Modem control register.
const (
	mcrDTR  = 1 << 0
	mcrRTS  = 1 << 1
	mcrOut1 = 1 << 2
	mcrOut2 = 1 << 3
	mcrLoop = 1 << 4
	mcrMask = 0x1f
)

// Line status register.
const (
	lsrData    = 1 << 0
	lsrOverrun = 1 << 1
	lsrTxEmpty = 1<<5 | 1<<6 // THRE and TEMT: always, nothing takes time
)

// Modem status register: lines in the upper half, "has changed" in the lower.
const (
	msrCTS       = 1 << 4
	msrDSR       = 1 << 5
	msrRI        = 1 << 6
	msrDCD       = 1 << 7
	msrLines     = 0xf0
	msrDeltaRI   = 1 << 2 // set only when RI falls
	msrDeltaMask = 0x0f
)

const fifoSize = 16

// triggers are the receive levels that FCR bits 7:6 choose.
var triggers = [4]int{1, 4, 8, 14}
