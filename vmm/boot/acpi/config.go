// SPDX-License-Identifier: Apache-2.0

package acpi

import "fmt"

// MaxCPUs is the largest number of processors in a MADT of ours.
const MaxCPUs = 4096

// The I/O ports that the FADT names. The machine must have devices there.
const (
	// ResetPort takes ResetValue to reset the machine (the PC's reset control
	// register).
	ResetPort  = 0xcf9
	ResetValue = 0x06
	// SleepControlPort is the sleep control register and SleepStatusPort the
	// sleep status register (ACPI 6.3, 4.8.3.7): writing SleepS5 to the
	// former powers the machine off.
	SleepControlPort = 0x600
	SleepStatusPort  = 0x601
	SleepS5          = sleepTypeS5<<2 | 1<<5 // SLP_TYP, SLP_EN

	sleepTypeS5 = 5
	cmosCentury = 0x32 // CMOS index of the century
)

// SerialPort is a 16550 at eight I/O ports, with an edge-triggered interrupt.
type SerialPort struct {
	Port uint16
	GSI  uint32
}

// Config is what the tables describe.
type Config struct {
	CPUs   int
	APICID func(cpu int) uint32 // nil: equal to the CPU number
	LAPIC  uint32               // physical address of the local APIC
	IOAPIC uint32               // physical address of the I/O APIC; 0: there is none
	NoPIC  bool                 // there are no 8259s either
	PIT    bool                 // an i8254 is there; its interrupt arrives at GSI 2
	Serial []SerialPort         // at most 4
}

func (c *Config) apicID(cpu int) uint32 {
	if c.APICID == nil {
		return uint32(cpu)
	}
	return c.APICID(cpu)
}

func (c *Config) check() error {
	if c.CPUs < 1 || c.CPUs > MaxCPUs {
		return fmt.Errorf("acpi: %d CPUs: must be 1 to %d", c.CPUs, MaxCPUs)
	}
	if len(c.Serial) > 4 {
		return fmt.Errorf("acpi: %d serial ports: at most 4 can be described", len(c.Serial))
	}
	seen := make(map[uint32]int, c.CPUs)
	for i := range c.CPUs {
		id := c.apicID(i)
		if id == 0xffffffff {
			return fmt.Errorf("acpi: CPU %d: APIC id %#x is the broadcast id", i, id)
		}
		if other, dup := seen[id]; dup {
			return fmt.Errorf("acpi: CPUs %d and %d share APIC id %#x", other, i, id)
		}
		seen[id] = i
	}
	return nil
}
