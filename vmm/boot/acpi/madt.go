// SPDX-License-Identifier: Apache-2.0

package acpi

import "encoding/binary"

// Structure types in the MADT (ACPI 6.3, table 5-45).
const (
	madtLAPIC     = 0
	madtIOAPIC    = 1
	madtOverride  = 2
	madtLAPICNMI  = 4
	madtX2APIC    = 9
	madtX2APICNMI = 10

	madtPCATCompat = 1 // flags: two 8259s are there as well
	madtEnabled    = 1
	allCPUs8       = 0xff
	allCPUs32      = 0xffffffff
	nmiLINT        = 1
)

// madtBody lists the interrupt controllers. A processor gets the short entry
// if both its UID and its APIC id are below 255, and an x2APIC entry
// otherwise: in the short entry 255 means "all".
func madtBody(c *Config) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, c.LAPIC)
	flags := uint32(madtPCATCompat)
	if c.NoPIC {
		flags = 0
	}
	b = le.AppendUint32(b, flags)
	long := false
	for i := range c.CPUs {
		if id := c.apicID(i); i < 255 && id < 255 {
			b = append(b, madtLAPIC, 8, byte(i), byte(id))
			b = le.AppendUint32(b, madtEnabled)
		} else {
			long = true
			b = append(b, madtX2APIC, 16, 0, 0)
			b = le.AppendUint32(b, id)
			b = le.AppendUint32(b, madtEnabled)
			b = le.AppendUint32(b, uint32(i))
		}
	}
	b = append(b, madtLAPICNMI, 6, allCPUs8, 0, 0, nmiLINT)
	if long {
		b = append(b, madtX2APICNMI, 12, 0, 0)
		b = le.AppendUint32(b, allCPUs32)
		b = append(b, nmiLINT, 0, 0, 0)
	}
	if c.IOAPIC == 0 {
		return b
	}
	b = append(b, madtIOAPIC, 12, 0, 0)
	b = le.AppendUint32(b, c.IOAPIC)
	b = le.AppendUint32(b, 0) // its first GSI
	if c.PIT {
		// Bus 0 (ISA), IRQ 0, GSI 2, polarity and trigger as the bus has it.
		b = append(b, madtOverride, 10, 0, 0)
		b = le.AppendUint32(b, 2)
		b = le.AppendUint16(b, 0)
	}
	return b
}
