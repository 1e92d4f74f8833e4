// SPDX-License-Identifier: Apache-2.0

// Package pit stands at the ports of the interval timer (8254) of a machine that
// has none, as a PVH guest's has none.
//
// Ports that nothing answers read as all ones. To Linux, which calibrates its
// processor clock by the timer before it knows what machine it is on, that is a
// counter that has just started: it reads it a hundred thousand times, each of
// them an exit, before it gives up. A counter that stands at zero it gives up at
// the first look (quick_pit_calibrate in arch/x86/kernel/tsc.c).
package pit

const (
	// Port is the first of the I/O ports: three counters and the mode.
	Port = 0x40
	// Ports is their number.
	Ports = 4
)

// Absent implements device.Device. It has no state: any thread may use it.
type Absent struct{}

// Read answers zeroes.
func (Absent) Read(_ uint64, p []byte) { clear(p) }

// Write is ignored.
func (Absent) Write(uint64, []byte) {}
