// SPDX-License-Identifier: Apache-2.0

package serial

import (
	"io"
	"sync"
)

// Config is what a UART is connected to; all of it is optional.
type Config struct {
	Out    io.Writer        // nil discards
	IRQ    func(level bool) // the interrupt line; called on changes only
	OnRoom func()           // at least half of the FIFO has become free
}

// UART implements device.Device for a range of Ports ports.
type UART struct {
	out    io.Writer
	irq    func(bool)
	onRoom func()

	mu     sync.Mutex
	room   sync.Cond // waited on by Write
	closed bool

	ier, lcr, mcr, scr byte
	msrDelta           byte
	divisor            [2]byte
	fifo               bool // FIFOs enabled
	trigger            int
	rx                 [fifoSize]byte
	rxHead, rxLen      int
	overrun            bool
	txPending          bool // THRE interrupt not yet seen by the guest
	line               bool // level of the interrupt line
	hadRoom            bool
	outByte            [1]byte
}

// New makes a UART in its state after reset.
func New(c Config) *UART {
	u := &UART{out: c.Out, irq: c.IRQ, onRoom: c.OnRoom, trigger: 1}
	u.room.L = &u.mu
	u.divisor[0] = 1 // 115200 baud; only stored
	if u.out == nil {
		u.out = io.Discard
	}
	return u
}

// Read implements device.Device.
func (u *UART) Read(off uint64, p []byte) {
	u.mu.Lock()
	for i := range p {
		p[i] = u.readReg(int(off+uint64(i)) % Ports)
	}
	u.settle()
	u.mu.Unlock()
}

// Write implements device.Device.
func (u *UART) Write(off uint64, p []byte) {
	u.mu.Lock()
	for i, b := range p {
		u.writeReg(int(off+uint64(i))%Ports, b)
	}
	u.settle()
	u.mu.Unlock()
}

func (u *UART) readReg(reg int) byte {
	if u.lcr&lcrDivisor != 0 && reg <= regIER {
		return u.divisor[reg]
	}
	switch reg {
	case regData:
		return u.pop()
	case regIER:
		return u.ier
	case regIIR:
		id := u.interrupt()
		if id == iirTx {
			u.txPending = false // reading its identification clears it
		}
		if u.fifo {
			id |= iirFIFO
		}
		return id
	case regLCR:
		return u.lcr
	case regMCR:
		return u.mcr
	case regLSR:
		s := byte(lsrTxEmpty)
		if u.rxLen > 0 {
			s |= lsrData
		}
		if u.overrun {
			s |= lsrOverrun
		}
		u.overrun = false
		return s
	case regMSR:
		s := u.modemLines() | u.msrDelta
		u.msrDelta = 0
		return s
	}
	return u.scr
}

func (u *UART) writeReg(reg int, b byte) {
	if u.lcr&lcrDivisor != 0 && reg <= regIER {
		u.divisor[reg] = b
		return
	}
	switch reg {
	case regData:
		u.transmit(b)
	case regIER:
		// The transmitter is empty: enabling its interrupt raises it. Drivers
		// rely on that to start sending, and test for it.
		if b&ierTx != 0 && u.ier&ierTx == 0 {
			u.txPending = true
		}
		u.ier = b & ierMask
	case regIIR:
		u.writeFCR(b)
	case regLCR:
		u.lcr = b
	case regMCR:
		u.writeMCR(b)
	case regSCR:
		u.scr = b
	}
}

// writeFCR switches or clears the FIFOs. Switching clears them too; the other
// bits count only while the enable bit is written as one.
func (u *UART) writeFCR(b byte) {
	on := b&fcrEnable != 0
	if on != u.fifo || on && b&fcrClearRx != 0 {
		u.rxHead, u.rxLen = 0, 0
	}
	u.fifo = on
	u.trigger = 1
	if on {
		u.trigger = triggers[b>>6]
	}
}

// transmit sends a byte: out, or in loopback mode to the own receiver. The
// holding register is empty again at once, which is a new interrupt: an edge
// even if the last one was not looked at.
func (u *UART) transmit(b byte) {
	if u.txPending {
		u.txPending = false
		u.updateLine()
	}
	if u.mcr&mcrLoop != 0 {
		u.push(b)
	} else {
		u.outByte[0] = b
		_, _ = u.out.Write(u.outByte[:]) // the guest could not be told of an error
	}
	u.txPending = true
}

// writeMCR also does what a change of the modem lines does: in loopback mode
// the outputs are the inputs.
func (u *UART) writeMCR(b byte) {
	before := u.modemLines()
	u.mcr = b & mcrMask
	after := u.modemLines()
	changed := (before ^ after) >> 4
	if after&msrRI != 0 {
		changed &^= msrDeltaRI
	}
	u.msrDelta |= changed & msrDeltaMask
}

// modemLines is the upper half of MSR: normally a peer that is always there
// and ready.
func (u *UART) modemLines() byte {
	if u.mcr&mcrLoop == 0 {
		return msrCTS | msrDSR | msrDCD
	}
	var s byte
	if u.mcr&mcrRTS != 0 {
		s |= msrCTS
	}
	if u.mcr&mcrDTR != 0 {
		s |= msrDSR
	}
	if u.mcr&mcrOut1 != 0 {
		s |= msrRI
	}
	if u.mcr&mcrOut2 != 0 {
		s |= msrDCD
	}
	return s
}

// interrupt identifies the pending enabled interrupt of highest priority.
func (u *UART) interrupt() byte {
	switch {
	case u.ier&ierLine != 0 && u.overrun:
		return iirLine
	case u.ier&ierRx != 0 && u.rxLen >= u.trigger:
		return iirRx
	case u.ier&ierRx != 0 && u.rxLen > 0:
		return iirTimeout
	case u.ier&ierTx != 0 && u.txPending:
		return iirTx
	case u.ier&ierModem != 0 && u.msrDelta != 0:
		return iirModem
	}
	return iirNone
}

// updateLine brings the interrupt line up to date.
func (u *UART) updateLine() {
	level := u.interrupt() != iirNone
	if level == u.line {
		return
	}
	u.line = level
	if u.irq != nil {
		u.irq(level)
	}
}
