// SPDX-License-Identifier: Apache-2.0

package reset

import "sync/atomic"

// Ports of this file's devices, one port each except the sleep registers (two:
// control, then status).
const (
	ControlAPort = 0x92
	ControlPort  = 0xcf9
)

// ControlA is system control port A: bit 0 resets the CPU when it goes from 0
// to 1, bit 1 is the A20 gate (kept, without effect).
type ControlA struct {
	reset Func
	value atomic.Uint32
}

// NewControlA makes the port with the A20 gate open.
func NewControlA(reset Func) *ControlA {
	c := &ControlA{reset: reset}
	c.value.Store(outputA20)
	return c
}

// Read gives the last value written.
func (c *ControlA) Read(_ uint64, p []byte) { fill(p, byte(c.value.Load())) }

// Write takes effect on a rising bit 0.
func (c *ControlA) Write(_ uint64, p []byte) {
	for _, b := range p {
		if old := c.value.Swap(uint32(b)); old&1 == 0 && b&1 != 0 {
			c.reset("port 92")
		}
	}
}

// Control is the reset control register of PC chipsets: bit 1 chooses a hard
// reset, bit 2 resets when it goes from 0 to 1, bit 3 asks for a power cycle.
// All of them mean the same to a virtual machine. Guests set bit 1 first and
// then bits 1 and 2.
type Control struct {
	reset Func
	value atomic.Uint32
}

const (
	controlCPU  = 1 << 2
	controlMask = 0x0e
)

// NewControl makes the register with all bits clear.
func NewControl(reset Func) *Control { return &Control{reset: reset} }

// Read gives the bits that exist. The reset bit never reads as set.
func (c *Control) Read(_ uint64, p []byte) { fill(p, byte(c.value.Load())) }

// Write resets on a rising bit 2. That bit does not stick, because after the
// reset it is clear again.
func (c *Control) Write(_ uint64, p []byte) {
	for _, b := range p {
		c.value.Store(uint32(b & controlMask &^ controlCPU))
		if b&controlCPU != 0 {
			c.reset("port cf9")
		}
	}
}

// Sleep is the pair of ACPI sleep registers of a hardware-reduced platform
// (ACPI 6.3, 4.8.3.7): offset 0 control, offset 1 status.
type Sleep struct{ off Func }

// Sleep register bits.
const (
	sleepEnable    = 1 << 5
	sleepTypeShift = 2
	sleepTypeMask  = 7
	sleepTypeS5    = 5 // the value that the DSDT's \_S5 names
)

// NewSleep makes the registers; off is called when the guest powers off.
func NewSleep(off Func) *Sleep { return &Sleep{off: off} }

// Read gives zero: not waking, nothing latched.
func (s *Sleep) Read(_ uint64, p []byte) { fill(p, 0) }

// Write acts on S5 in the control register; other sleep types do not exist.
func (s *Sleep) Write(off uint64, p []byte) {
	for i, b := range p {
		if off+uint64(i) == 0 && b&sleepEnable != 0 && b>>sleepTypeShift&sleepTypeMask == sleepTypeS5 {
			s.off("ACPI S5")
		}
	}
}

func fill(p []byte, b byte) {
	for i := range p {
		p[i] = b
	}
}
