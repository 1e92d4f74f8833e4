// SPDX-License-Identifier: Apache-2.0

// Package debugport is the one-byte debug console at I/O port 0xe9: what is
// written to it goes to a writer, and a read gives 0xe9, by which guests detect
// it (Bochs and Xen behave so).
//
// # Concurrency
//
// Accesses may come from several threads; bytes of one access stay together.
package debugport

import (
	"io"
	"sync"
)

// Port is the I/O port number and the value that it reads as.
const Port = 0xe9

// Device implements device.Device for a range of one port.
type Device struct {
	mu  sync.Mutex
	out io.Writer
	buf [8]byte
}

// New makes a debug port that writes to out; nil discards. The writer is
// called on vCPU threads: it should buffer rather than block. Its errors are
// ignored, as the guest could do nothing about them.
func New(out io.Writer) *Device {
	if out == nil {
		out = io.Discard
	}
	return &Device{out: out}
}

// Read answers every byte with 0xe9.
func (d *Device) Read(_ uint64, p []byte) {
	for i := range p {
		p[i] = Port
	}
}

// Write passes the bytes on.
func (d *Device) Write(_ uint64, p []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// Copied, so that the writer never holds the guest's window.
	n := copy(d.buf[:], p)
	_, _ = d.out.Write(d.buf[:n])
}
