// SPDX-License-Identifier: Apache-2.0

package serial

import (
	"bytes"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a UART with recorded output and interrupt line.
type rig struct {
	*UART
	out   bytes.Buffer
	level bool
	rises int
	rooms int
}

func newRig() *rig {
	r := &rig{}
	r.UART = New(Config{
		Out: &r.out,
		IRQ: func(l bool) {
			r.level = l
			if l {
				r.rises++
			}
		},
		OnRoom: func() { r.rooms++ },
	})
	return r
}

func (r *rig) in(reg uint64) byte {
	var p [1]byte
	r.Read(reg, p[:])
	return p[0]
}

func (r *rig) set(reg uint64, b byte) { r.UART.Write(reg, []byte{b}) }

// open does what a driver does to receive: FIFO on, RTS.
func (r *rig) open(fcr byte) {
	r.set(regIIR, fcr)
	r.set(regMCR, mcrDTR|mcrRTS|mcrOut2)
}

func TestResetState(t *testing.T) {
	r := newRig()
	for reg, want := range map[uint64]byte{regIER: 0, regIIR: 0x01, regLCR: 0, regMCR: 0, regLSR: 0x60, regMSR: 0xb0, regSCR: 0} {
		if got := r.in(reg); got != want {
			t.Errorf("register %d is %#x, want %#x", reg, got, want)
		}
	}
	if r.level || r.rises != 0 {
		t.Error("interrupt after reset")
	}
}

func TestOutput(t *testing.T) {
	r := newRig()
	for _, b := range []byte("hello") {
		if r.in(regLSR)&0x60 != 0x60 {
			t.Error("transmitter is busy")
		}
		r.set(regData, b)
	}
	if r.out.String() != "hello" {
		t.Errorf("%q", r.out.String())
	}
}

func TestRegistersKeepOnlyTheirBits(t *testing.T) {
	r := newRig()
	for _, c := range []struct {
		reg        uint64
		write, get byte
	}{
		{regIER, 0xff, 0x0f}, {regIER, 0, 0}, {regLCR, 0x1b, 0x1b}, {regLCR, 0x7f, 0x7f}, {regMCR, 0xff, 0x1f}, {regMCR, 0, 0}, {regSCR, 0xa5, 0xa5}, {regSCR, 0x5a, 0x5a},
	} {
		r.set(c.reg, c.write)
		if got := r.in(c.reg); got != c.get {
			t.Errorf("register %d: wrote %#x, read %#x, want %#x", c.reg, c.write, got, c.get)
		}
	}
	r.set(regLSR, 0)
	if r.in(regLSR) != 0x60 {
		t.Error("LSR is writable")
	}
}

func TestDivisorLatchHidesDataAndIER(t *testing.T) {
	r := newRig()
	r.set(regIER, 0x05)
	r.set(regLCR, lcrDivisor|3)
	r.set(0, 0x34)
	r.set(1, 0x12)
	if r.in(0) != 0x34 || r.in(1) != 0x12 || r.out.Len() != 0 {
		t.Errorf("divisor %#x %#x, output %q", r.in(0), r.in(1), r.out.String())
	}
	r.set(regLCR, 3)
	if r.in(regIER) != 0x05 {
		t.Error("IER was overwritten by the divisor")
	}
}

// TestLinuxAutoconfig does what Linux's 8250 driver does to recognise a 16550A
// (autoconfig and autoconfig_16550a).
func TestLinuxAutoconfig(t *testing.T) {
	r := newRig()
	r.set(regIER, 0)
	if r.in(regIER) != 0 {
		t.Fatal("IER does not clear")
	}
	r.set(regIER, 0x0f)
	if r.in(regIER) != 0x0f {
		t.Fatal("IER does not set")
	}
	r.set(regIER, 0)
	r.set(regMCR, mcrLoop|0x0a)
	if r.in(regMSR)&0xf0 != 0x90 {
		t.Fatal("loopback test fails")
	}
	r.set(regMCR, 0)
	r.set(regLCR, 0xbf)
	r.set(regIIR, 0)
	r.set(regLCR, 0)
	r.set(regIIR, fcrEnable)
	if r.in(regIIR)>>6 != 3 {
		t.Fatal("not a 16550A")
	}
	r.set(regLCR, 0x80)
	if r.in(2) == 0 {
		t.Fatal("taken for a chip with an EFR in configuration mode A")
	}
	r.set(regLCR, 0xbf)
	if r.in(2) == 0 {
		t.Fatal("taken for a chip with an EFR in configuration mode B")
	}
	r.set(regLCR, 0)
	r.set(regIIR, fcrEnable|0x20)
	if r.in(regIIR)>>5 == 7 {
		t.Fatal("taken for a 16750 with 64 bytes of FIFO")
	}
	r.set(regIER, 0x40)
	if r.in(regIER)&0x40 != 0 {
		t.Fatal("taken for an XScale UART")
	}
	// Is the transmit interrupt raised by enabling it, twice?
	for i := range 2 {
		r.set(regIER, ierTx)
		if id := r.in(regIIR); id&0x0f != iirTx {
			t.Fatalf("round %d: IIR %#x after enabling the transmit interrupt", i, id)
		}
		r.set(regIER, 0)
	}
}

// TestLinuxFIFOSize is the loopback test by which the driver measures the
// FIFO.
func TestLinuxFIFOSize(t *testing.T) {
	r := newRig()
	r.set(regIIR, fcrEnable|fcrClearRx|4)
	r.set(regMCR, mcrLoop)
	for i := range byte(16) {
		r.set(regData, i)
	}
	if s := r.in(regLSR); s&lsrOverrun != 0 || s&lsrData == 0 {
		t.Fatalf("LSR %#x after 16 bytes", s)
	}
	for range 4 {
		r.set(regData, 0xee)
	}
	if s := r.in(regLSR); s&lsrOverrun == 0 {
		t.Error("no overrun after 20 bytes")
	}
	if s := r.in(regLSR); s&lsrOverrun != 0 {
		t.Error("reading LSR did not clear the overrun")
	}
	for i := range byte(16) {
		if b := r.in(regData); b != i {
			t.Fatalf("byte %d is %#x", i, b)
		}
	}
	if r.in(regLSR)&lsrData != 0 || r.out.Len() != 0 {
		t.Error("more data than the FIFO holds, or loopback leaked")
	}
}

func TestHoldingRegisterOverrun(t *testing.T) {
	r := newRig()
	r.set(regMCR, mcrLoop)
	r.set(regData, 1)
	r.set(regData, 2)
	if s := r.in(regLSR); s&(lsrOverrun|lsrData) != lsrOverrun|lsrData {
		t.Errorf("LSR %#x", s)
	}
	if b := r.in(regData); b != 2 {
		t.Errorf("the later byte should replace the earlier one, got %d", b)
	}
}

func TestInterruptPriorities(t *testing.T) {
	r := newRig()
	r.set(regIIR, fcrEnable|0x40) // trigger at 4
	r.set(regMCR, mcrLoop|mcrRTS)
	r.in(regMSR)
	r.set(regIER, 0x0f)
	for i := range byte(17) { // 17th overruns
		r.set(regData, i)
	}
	r.set(regMCR, mcrLoop) // CTS changes
	want := func(id byte) {
		t.Helper()
		if got := r.in(regIIR) &^ iirFIFO; got != id {
			t.Errorf("IIR %#x, want %#x", got, id)
		}
		if r.level != (id != iirNone) {
			t.Errorf("line %v with IIR %#x", r.level, id)
		}
	}
	want(iirLine)
	r.in(regLSR)
	want(iirRx)
	for range 13 {
		r.in(regData)
	}
	want(iirTimeout)
	for range 3 {
		r.in(regData)
	}
	if got := r.in(regIIR) &^ iirFIFO; got != iirTx {
		t.Errorf("IIR %#x, want transmit", got)
	}
	want(iirModem)
	r.in(regMSR)
	want(iirNone)
}

func TestTransmitInterruptIsAnEdgePerByte(t *testing.T) {
	r := newRig()
	r.set(regIER, ierTx)
	if r.rises != 1 || !r.level {
		t.Fatalf("%d rises on enabling", r.rises)
	}
	r.in(regIIR)
	if r.level {
		t.Error("line stays up after IIR was read")
	}
	r.set(regData, 'a')
	r.set(regData, 'b') // not acknowledged in between: still a new edge
	if r.rises != 3 || !r.level {
		t.Errorf("%d rises, level %v", r.rises, r.level)
	}
	r.set(regIER, 0)
	if r.level {
		t.Error("line is up while disabled")
	}
	r.set(regData, 'c')
	if r.rises != 3 {
		t.Error("interrupt while disabled")
	}
}

func TestModemLinesInLoopback(t *testing.T) {
	r := newRig()
	for mcr := range byte(16) {
		r.set(regMCR, mcrLoop|mcr)
		var want byte
		for bit, line := range map[byte]byte{mcrRTS: msrCTS, mcrDTR: msrDSR, mcrOut1: msrRI, mcrOut2: msrDCD} {
			if mcr&bit != 0 {
				want |= line
			}
		}
		if got := r.in(regMSR) & msrLines; got != want {
			t.Errorf("MCR %#x: MSR %#x, want %#x", mcr, got, want)
		}
		if r.in(regMSR)&msrDeltaMask != 0 {
			t.Error("reading MSR did not clear the changes")
		}
	}
	// The ring indicator's change shows only when it ends.
	r.set(regMCR, mcrLoop)
	r.in(regMSR)
	r.set(regMCR, mcrLoop|mcrOut1)
	if r.in(regMSR)&msrDeltaRI != 0 {
		t.Error("change of RI shown at its start")
	}
	r.set(regMCR, mcrLoop)
	if r.in(regMSR)&msrDeltaRI == 0 {
		t.Error("change of RI not shown at its end")
	}
}

func TestWideAccessTouchesNeighbours(t *testing.T) {
	r := newRig()
	r.UART.Write(regLCR, []byte{0x03, 0x0b})
	if r.in(regLCR) != 0x03 || r.in(regMCR) != 0x0b {
		t.Error("16-bit write did not reach two registers")
	}
	var p [8]byte
	r.Read(0, p[:])
	if p[regLCR] != 0x03 || p[regLSR] != 0x60 {
		t.Errorf("% x", p)
	}
}

func FuzzRegisters(f *testing.F) {
	f.Add([]byte{0x82, 1, 0x84, 3, 0x40, 'x', 0, 0x84, 0x13, 0x80, 'y'})
	f.Fuzz(func(t *testing.T, ops []byte) {
		r := newRig()
		for len(ops) >= 2 {
			reg, b := uint64(ops[0]&7), ops[1]
			switch {
			case ops[0]&0x80 != 0:
				r.set(reg, b)
			case ops[0]&0x40 != 0:
				r.Input(bytes.Repeat([]byte{b}, int(b)))
			default:
				r.in(reg)
			}
			ops = ops[2:]
			if pending := r.interrupt() != iirNone; pending != r.level {
				t.Fatalf("pending %v but line %v", pending, r.level)
			}
			if r.rxLen < 0 || r.rxLen > r.capacity() || r.rxHead < 0 || r.rxHead >= fifoSize {
				t.Fatalf("FIFO %d at %d", r.rxLen, r.rxHead)
			}
		}
	})
}
