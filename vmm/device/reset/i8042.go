// SPDX-License-Identifier: Apache-2.0

package reset

import "sync"

// The keyboard controller's ports, 0x60 and 0x64; 0x61 to 0x63 are not its.
const (
	DataPort    = 0x60
	CommandPort = 0x64
)

// Status register bits and commands (IBM PC AT technical reference, "8042").
const (
	statusOutputFull = 1 << 0
	statusSystem     = 1 << 2 // self test passed
	statusCommand    = 1 << 3 // the last write was a command
	statusUnlocked   = 1 << 4

	cmdReadConfig   = 0x20
	cmdWriteConfig  = 0x60
	cmdTestAux      = 0xa9
	cmdSelfTest     = 0xaa
	cmdTestKeyboard = 0xab
	cmdReadOutput   = 0xd0
	cmdWriteOutput  = 0xd1
	cmdPulse        = 0xf0 // f0-ff: pulse the output lines whose bit is 0

	outputNotReset = 1 << 0 // the reset line, active low
	outputA20      = 1 << 1

	selfTestOK  = 0x55
	testNoReply = 0x01 // clock line stuck low: nothing is attached

	// Both interfaces disabled, system flag set, no interrupts.
	configDefault = 0x34
)

// Keyboard is the controller.
type Keyboard struct {
	reset Func

	mu      sync.Mutex
	config  byte
	output  byte // the output port's lines
	data    byte
	full    bool
	pending byte // the command that waits for a data byte, 0 if none
	lastCmd bool
}

// NewKeyboard makes a controller that calls reset when the guest pulls the
// reset line.
func NewKeyboard(reset Func) *Keyboard {
	return &Keyboard{reset: reset, config: configDefault, output: outputNotReset | outputA20}
}

// Data is the device for port 0x60, one port.
func (k *Keyboard) Data() *KeyboardData { return (*KeyboardData)(k) }

// Command is the device for port 0x64, one port.
func (k *Keyboard) Command() *KeyboardCommand { return (*KeyboardCommand)(k) }

// KeyboardData is the data port.
type KeyboardData Keyboard

// KeyboardCommand is the command and status port.
type KeyboardCommand Keyboard

// Read gives the byte in the output buffer; an empty buffer gives the last one
// again.
func (d *KeyboardData) Read(_ uint64, p []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range p {
		p[i] = d.data
		d.full = false
	}
}

// Write is a command's data byte, or a byte for the keyboard that is not there.
func (d *KeyboardData) Write(_ uint64, p []byte) {
	for _, b := range p {
		if (*Keyboard)(d).dataByte(b) {
			d.reset("keyboard controller output port")
		}
	}
}

func (k *Keyboard) dataByte(b byte) (reset bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	cmd := k.pending
	k.pending, k.lastCmd = 0, false
	switch cmd {
	case cmdWriteConfig:
		k.config = b
	case cmdWriteOutput:
		k.output = b | outputNotReset
		return b&outputNotReset == 0
	}
	return false
}

// Read gives the status register. The input buffer is always empty: commands
// take effect at once.
func (c *KeyboardCommand) Read(_ uint64, p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := byte(statusUnlocked | statusSystem)
	if c.full {
		s |= statusOutputFull
	}
	if c.lastCmd {
		s |= statusCommand
	}
	for i := range p {
		p[i] = s
	}
}

// Write is a command.
func (c *KeyboardCommand) Write(_ uint64, p []byte) {
	for _, b := range p {
		if (*Keyboard)(c).command(b) {
			c.reset("keyboard controller")
		}
	}
}

func (k *Keyboard) command(b byte) (reset bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lastCmd, k.pending = true, 0
	answer := func(v byte) { k.data, k.full = v, true }
	switch {
	case b >= cmdPulse:
		return b&outputNotReset == 0
	case b == cmdReadConfig:
		answer(k.config)
	case b == cmdSelfTest:
		answer(selfTestOK)
	case b == cmdTestKeyboard, b == cmdTestAux:
		answer(testNoReply)
	case b == cmdReadOutput:
		answer(k.output)
	case b == cmdWriteConfig, b == cmdWriteOutput:
		k.pending = b
	}
	return false
}
