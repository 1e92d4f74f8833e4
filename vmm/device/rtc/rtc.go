// SPDX-License-Identifier: Apache-2.0

package rtc

import (
	"sync"
	"time"
)

// The range to map the clock at: index and data.
const (
	Port  = 0x70
	Ports = 2
)

// Indexes of the clock's registers.
const (
	regSeconds      = 0x00
	regSecondsAlarm = 0x01
	regMinutes      = 0x02
	regMinutesAlarm = 0x03
	regHours        = 0x04
	regHoursAlarm   = 0x05
	regWeekday      = 0x06
	regDay          = 0x07
	regMonth        = 0x08
	regYear         = 0x09
	regA            = 0x0a
	regB            = 0x0b
	regC            = 0x0c
	regD            = 0x0d
	regCentury      = 0x32
)

const (
	aUpdating = 1 << 7 // UIP
	aDefault  = 0x26   // 32768 Hz time base, 1024 Hz rate
	bSet      = 1 << 7 // updates stopped, the guest sets the time
	b24Hour   = 1 << 1
	bBinary   = 1 << 2
	dValid    = 1 << 7 // battery is good

	indexMask = 0x7f // bit 7 of the index port masks NMIs: ignored
	pmBit     = 0x80 // of the hours, in 12-hour mode
)

// Config is what the clock shows.
type Config struct {
	Now func() time.Time // nil: the host's clock, in UTC
	RAM []Range          // guest memory, for the size bytes
}

// Range is a piece of guest memory, in bytes.
type Range struct{ GPA, Size uint64 }

// Clock implements device.Device for two ports.
type Clock struct {
	now func() time.Time

	mu     sync.Mutex
	index  byte
	offset int64     // seconds added to now: a time.Duration reaches only 292 years
	ram    [128]byte // time registers are live only while bSet is
}

// New makes a clock in 24-hour BCD mode.
func New(c Config) *Clock {
	k := &Clock{now: c.Now}
	if k.now == nil {
		k.now = func() time.Time { return time.Now().UTC() }
	}
	k.ram[regA], k.ram[regB] = aDefault, b24Hour
	k.memorySize(c.RAM)
	return k
}

// Read implements device.Device. The index port is write-only.
func (k *Clock) Read(off uint64, p []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range p {
		p[i] = 0xff
		if off+uint64(i) == 1 {
			p[i] = k.readReg(k.index)
		}
	}
}

// Write implements device.Device.
func (k *Clock) Write(off uint64, p []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, b := range p {
		switch off + uint64(i) {
		case 0:
			k.index = b & indexMask
		case 1:
			k.writeReg(k.index, b)
		}
	}
}

func (k *Clock) readReg(i byte) byte {
	switch {
	case isTime(i):
		if k.ram[regB]&bSet == 0 {
			k.latch()
		}
	case i == regA:
		return k.ram[regA] &^ aUpdating
	case i == regC:
		return 0 // no interrupt pending, ever
	case i == regD:
		return dValid
	}
	return k.ram[i]
}

func (k *Clock) writeReg(i, b byte) {
	switch {
	case i == regC, i == regD:
		return // read-only
	case i == regB:
		k.writeB(b)
	case !isTime(i):
		k.ram[i] = b
	case k.ram[regB]&bSet != 0:
		k.ram[i] = b // takes effect when bSet is cleared
	default:
		k.latch()
		k.ram[i] = b
		k.adopt()
	}
}

// writeB stops the clock's registers when bSet rises, and takes their time
// over when it falls.
func (k *Clock) writeB(b byte) {
	was := k.ram[regB]
	if was&bSet == 0 && b&bSet != 0 {
		k.latch()
	}
	k.ram[regB] = b
	if was&bSet != 0 && b&bSet == 0 {
		k.adopt()
	}
}

// isTime tells the registers that the clock itself counts.
func isTime(i byte) bool {
	switch i {
	case regSeconds, regMinutes, regHours, regWeekday, regDay, regMonth, regYear, regCentury:
		return true
	}
	return false
}
