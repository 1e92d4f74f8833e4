// SPDX-License-Identifier: Apache-2.0

// Package pcihost is the PC's way into PCI configuration space: mechanism 1,
// an address register at port 0xcf8 and a data window at 0xcfc (PCI Local Bus
// specification 3.0, 3.2.2.3.2). There is one bus, number 0, which is empty
// until functions are plugged in; what is not there reads as all ones.
//
// # Concurrency
//
// Accesses and Plug may come from several threads. The address register is one
// for the whole machine, as on a PC: guests serialise themselves.
package pcihost

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// The range to map the host at: eight ports.
const (
	Port  = 0xcf8
	Ports = 8
)

const (
	dataOffset  = 4
	resetOffset = 1 // port 0xcf9

	enableBit   = 1 << 31
	addressMask = 0x80fffffc // the bits that exist; the rest reads as zero

	functions = 256 // on one bus
)

// Function is one PCI function's configuration space of 256 bytes. reg+len(p)
// is at most 256 and the access does not cross an aligned double word.
type Function interface {
	ReadConfig(reg uint8, p []byte)
	WriteConfig(reg uint8, p []byte)
}

// Register is a device behind a byte port, as package device has it.
type Register interface {
	Read(off uint64, p []byte)
	Write(off uint64, p []byte)
}

// ErrTaken: there is a function at that place already.
var ErrTaken = errors.New("PCI function number is taken")

// Host implements device.Device for ports 0xcf8 to 0xcff.
type Host struct {
	control Register // port 0xcf9, nil if there is none
	address atomic.Uint32

	mu  sync.Mutex
	fns [functions]atomic.Pointer[plugged]
}

type plugged struct{ Function }

// New makes a host with an empty bus. The byte at port 0xcf9 is not part of
// the mechanism, which has double word accesses to 0xcf8 only: on PCs the
// reset control register is there. control gets those accesses; nil is none.
func New(control Register) *Host { return &Host{control: control} }

// Plug puts a function at device*8+function on bus 0; nil removes it.
func (h *Host) Plug(devfn uint8, f Function) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case f == nil:
		h.fns[devfn].Store(nil)
	case h.fns[devfn].Load() != nil:
		return fmt.Errorf("pcihost: plug 00:%02x.%d: %w", devfn>>3, devfn&7, ErrTaken)
	default:
		h.fns[devfn].Store(&plugged{f})
	}
	return nil
}

// target is the function and register that the address register and an offset
// in the data window point at; nil if there is none.
func (h *Host) target(off uint64) (f *plugged, reg uint8) {
	a := h.address.Load()
	if a&enableBit == 0 || a>>16&0xff != 0 {
		return nil, 0
	}
	return h.fns[a>>8&0xff].Load(), uint8(a)&0xfc + uint8(off-dataOffset)
}

// Read implements device.Device.
func (h *Host) Read(off uint64, p []byte) {
	switch {
	case off >= dataOffset:
		n := min(len(p), int(2*dataOffset-off))
		if f, reg := h.target(off); f != nil {
			f.ReadConfig(reg, p[:n])
			p = p[n:]
		}
	case off == 0 && len(p) == 4:
		binary.LittleEndian.PutUint32(p, h.address.Load())
		return
	case off == resetOffset && len(p) == 1 && h.control != nil:
		h.control.Read(0, p)
		return
	}
	for i := range p {
		p[i] = 0xff
	}
}

// Write implements device.Device.
func (h *Host) Write(off uint64, p []byte) {
	switch {
	case off >= dataOffset:
		n := min(len(p), int(2*dataOffset-off))
		if f, reg := h.target(off); f != nil {
			f.WriteConfig(reg, p[:n])
		}
	case off == 0 && len(p) == 4:
		h.address.Store(binary.LittleEndian.Uint32(p) & addressMask)
	case off == resetOffset && len(p) == 1 && h.control != nil:
		h.control.Write(0, p)
	}
}
