// SPDX-License-Identifier: Apache-2.0

package irq

import "fmt"

// CallbackType is the kind of the domain-wide callback.
type CallbackType uint8

// Kinds of callback, HVM_PARAM_CALLBACK_IRQ (public/hvm/params.h).
const (
	CallbackNone CallbackType = iota
	CallbackGSI
	CallbackINTx
	CallbackVector
)

// Callback is the domain-wide way to interrupt, as the guest asked for it.
type Callback struct {
	Type   CallbackType
	GSI    uint32 // CallbackGSI
	Device uint8  // CallbackINTx: PCI device number, 0..31
	Pin    uint8  // CallbackINTx: 0..3 for INTA..INTD
	Vector uint8  // CallbackVector
}

// LastGSI is the highest input of the in-kernel IOAPIC.
const LastGSI = 23

// line is the IOAPIC input of a GSI or INTx callback. Pins of PCI devices are
// spread over inputs 16 to 23 in the order of the usual swizzle.
func (cb Callback) line() (gsi uint32, ok bool) {
	switch cb.Type {
	case CallbackGSI:
		return cb.GSI, cb.GSI != 0 && cb.GSI <= LastGSI
	case CallbackINTx:
		d := uint32(cb.Device)
		return 16 + (d<<2+d>>3+uint32(cb.Pin))&7, true
	}
	return 0, false
}

// The callback fits a word, so that Upcall reads it without a lock.
func (cb Callback) pack() uint64 {
	return uint64(cb.Type)<<56 | uint64(cb.Vector)<<48 | uint64(cb.Device)<<40 | uint64(cb.Pin)<<32 | uint64(cb.GSI)
}

func unpack(v uint64) Callback {
	return Callback{
		Type: CallbackType(v >> 56), Vector: uint8(v >> 48),
		Device: uint8(v >> 40), Pin: uint8(v >> 32), GSI: uint32(v),
	}
}

// SetCallback replaces the domain-wide callback: the old line goes down, and
// every vCPU with an upcall pending is interrupted the new way, as Xen does.
// A GSI the IOAPIC lacks, or vector below 0x10, means no callback.
//
// A vCPU with a vector of its own is not interrupted by the callback: guests
// that use such vectors still set the callback to GSI 1, which must not be
// taken for a wish to be interrupted there.
func (c *Controller) SetCallback(cb Callback) error {
	if cb.Type == CallbackVector && cb.Vector < lowestUserLevel {
		cb = Callback{}
	}
	gsi, level := cb.line()
	if !level && cb.Type != CallbackVector {
		cb = Callback{}
	}
	c.callback.Store(0)
	if err := c.disconnect(); err != nil {
		return err
	}
	if level {
		line, err := c.cfg.Lines.Connect(gsi, c.ended)
		if err != nil {
			return fmt.Errorf("connect callback line GSI %d: %w", gsi, err)
		}
		c.mu.Lock()
		c.line = line
		c.mu.Unlock()
	}
	c.callback.Store(cb.pack())
	for i := range c.cpus {
		if c.cfg.Pending(i) {
			c.Upcall(i)
		}
	}
	return nil
}
