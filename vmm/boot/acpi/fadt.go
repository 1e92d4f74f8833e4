// SPDX-License-Identifier: Apache-2.0

package acpi

import "encoding/binary"

// Offsets in the FADT (ACPI 6.3, table 5-33), counted from the start of the
// table.
const (
	fadtSize           = 276
	fadtDSDT           = 40  // u32
	fadtP2Latency      = 96  // u16
	fadtP3Latency      = 98  // u16
	fadtCentury        = 108 // u8
	fadtBootArch       = 109 // u16
	fadtFlags          = 112 // u32
	fadtResetReg       = 116 // generic address
	fadtResetValue     = 128 // u8
	fadtMinor          = 131 // u8
	fadtXDSDT          = 140 // u64
	fadtSleepControl   = 244 // generic address
	fadtSleepStatus    = 256 // generic address
	fadtHypervisorName = 268 // 8 bytes

	bootLegacyDevices = 1 << 0 // devices on the ISA bus: serial ports
	bootNoVGA         = 1 << 2

	flagWBINVD       = 1 << 0
	flagC1           = 1 << 2
	flagPowerButton  = 1 << 4 // no fixed-feature power button
	flagSleepButton  = 1 << 5 // no fixed-feature sleep button
	flagResetReg     = 1 << 10
	flagHeadless     = 1 << 12
	flagReduced      = 1 << 20
	latencyNoC2      = 101  // above 100 us: C2 not supported
	latencyNoC3      = 1001 // above 1000 us: C3 not supported
	spaceIO          = 1
	accessByte       = 1
	bitsPerIORegByte = 8
)

func fadtBody(_ *Config, dsdt uint64) []byte {
	t := make([]byte, fadtSize)
	le := binary.LittleEndian
	if dsdt <= 0xffffffff {
		le.PutUint32(t[fadtDSDT:], uint32(dsdt))
	}
	le.PutUint64(t[fadtXDSDT:], dsdt)
	le.PutUint16(t[fadtP2Latency:], latencyNoC2)
	le.PutUint16(t[fadtP3Latency:], latencyNoC3)
	t[fadtCentury] = cmosCentury
	le.PutUint16(t[fadtBootArch:], bootLegacyDevices|bootNoVGA)
	le.PutUint32(t[fadtFlags:], flagWBINVD|flagC1|flagPowerButton|flagSleepButton|flagResetReg|flagHeadless|flagReduced)
	ioRegister(t[fadtResetReg:], ResetPort)
	t[fadtResetValue] = ResetValue
	t[fadtMinor] = 3
	ioRegister(t[fadtSleepControl:], SleepControlPort)
	ioRegister(t[fadtSleepStatus:], SleepStatusPort)
	copy(t[fadtHypervisorName:], oemTableID)
	return t[headerSize:]
}

// ioRegister encodes an 8-bit register in I/O space as a generic address
// structure (ACPI 6.3, 5.2.3.2).
func ioRegister(p []byte, port uint16) {
	p[0], p[1], p[2], p[3] = spaceIO, bitsPerIORegByte, 0, accessByte
	binary.LittleEndian.PutUint64(p[4:], uint64(port))
}
