// SPDX-License-Identifier: Apache-2.0

package acpi

// present is what _STA returns: present, enabled, shown, working.
const present = 0x0f

// dsdtBody is the definition block. In ASL:
//
//	Name (_S5_, Package () { 5, 0, 0, 0 })
//	Scope (_SB_) {
//	    Device (COM1) { PNP0501, UID 1, its ports and interrupt }
//	    Device (RTC0) { PNP0B00, ports 70-71 }
//	}
//
// On a hardware-reduced platform an operating system has no ISA interrupts of
// its own accord, so the serial ports' lines must be declared.
func dsdtBody(c *Config) []byte {
	sleep := name("_S5_", packageOf(integer(sleepTypeS5), integer(0), integer(0), integer(0)))
	devices := []byte{}
	for i, s := range c.Serial {
		devices = append(devices, device("COM"+string(rune('1'+i)),
			name("_HID", eisaID("PNP0501")),
			name("_UID", integer(uint32(i+1))),
			name("_STA", integer(present)),
			name("_CRS", resources(ioPorts(s.Port, 8), edgeInterrupt(s.GSI))),
		)...)
	}
	devices = append(devices, device("RTC0",
		name("_HID", eisaID("PNP0B00")),
		name("_STA", integer(present)),
		name("_CRS", resources(ioPorts(0x70, 2))),
	)...)
	return join(sleep, scope("_SB_", devices))
}
