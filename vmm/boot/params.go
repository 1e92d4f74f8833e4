// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Limits of the boot protocol and of this machine.
const (
	// MaxCmdline is the longest command line in bytes, without its final NUL:
	// what Linux on x86 takes (COMMAND_LINE_SIZE is 2048 with the NUL).
	MaxCmdline = 2047
	// MaxInitrds bounds the module list.
	MaxInitrds = 64
	// MaxCPUs is what the interrupt controller tables have room for.
	MaxCPUs = 4096

	pageSize = 4096
	fourGiB  = 1 << 32
)

// Fixed places of this machine in guest physical memory.
const (
	legacyStart = 0xa0000 // VGA, option ROMs and BIOS of a PC: never given out as RAM
	legacyEnd   = 0x100000
	biosStart   = 0xe0000 // where an operating system looks for the RSDP by itself

	// IOAPICBase and LAPICBase are the interrupt controllers' registers.
	IOAPICBase = 0xfec00000
	LAPICBase  = 0xfee00000
	// SpecialBase to SpecialEnd holds the pages Xen keeps out of RAM (store
	// and console rings and others; HVM_PARAM pfns in libxenguest) and above
	// them the pages KVM needs for real mode (TSS and identity map).
	SpecialBase = 0xfeff8000
	SpecialEnd  = 0xff000000

	infoLow = 0x10000 // start info goes into low memory from here on
)

// Params is what to boot. Kernel, RAM and CPUs are needed; the rest may be
// zero.
type Params struct {
	Kernel  File
	Initrds []File // one PVH module each; see Join for Linux, which reads only the first
	Cmdline string

	RAM      []Range // guest memory, page aligned, no overlaps
	Reserved []Range // further ranges to show as reserved and to keep free

	CPUs   int                  // vCPUs 0..CPUs-1 appear in the ACPI tables
	APICID func(cpu int) uint32 // nil: the APIC id is the vCPU number
	PIT    bool                 // the machine has an i8254: ISA IRQ 0 arrives at GSI 2
	Serial []SerialPort         // serial ports to describe to the guest
	NoACPI bool                 // no tables, RSDP 0
	// NoLines: there is neither an I/O APIC nor an 8259, so no device has an
	// interrupt line. Serial must be empty, since a port's would lead nowhere.
	NoLines bool
}

// SerialPort is a 16550 at an I/O port with its interrupt.
type SerialPort struct {
	Port uint16
	GSI  uint32
}

// check validates everything that does not depend on the kernel file, and
// returns the RAM sorted.
func (p *Params) check() (space, error) {
	if p.CPUs < 1 || p.CPUs > MaxCPUs {
		return nil, fmt.Errorf("boot: %d CPUs: must be 1 to %d: %w", p.CPUs, MaxCPUs, ErrLimit)
	}
	if err := checkCmdline("command line", p.Cmdline); err != nil {
		return nil, fmt.Errorf("boot: %w", err)
	}
	if len(p.Initrds) > MaxInitrds {
		return nil, fmt.Errorf("boot: %d initrds: at most %d can be passed: %w", len(p.Initrds), MaxInitrds, ErrLimit)
	}
	for _, f := range p.Initrds {
		if f.Size <= 0 {
			return nil, fmt.Errorf("boot: initrd %q is empty: %w", f.Name, ErrLimit)
		}
		if err := checkCmdline(fmt.Sprintf("initrd %q: command line", f.Name), f.Cmdline); err != nil {
			return nil, fmt.Errorf("boot: %w", err)
		}
	}
	if p.Kernel.Data == nil || p.Kernel.Size <= 0 {
		return nil, fmt.Errorf("boot: kernel %q is empty: %w", p.Kernel.Name, ErrFormat)
	}
	for _, r := range p.Reserved {
		if !r.valid() {
			return nil, fmt.Errorf("boot: reserved range %#x+%#x is empty or wraps: %w", r.GPA, r.Size, ErrLimit)
		}
	}
	return checkRAM(p.RAM)
}

func checkCmdline(what, s string) error {
	if len(s) > MaxCmdline {
		return fmt.Errorf("%s is %d bytes long, limit %d; shorten it: %w", what, len(s), MaxCmdline, ErrLimit)
	}
	if i := strings.IndexByte(s, 0); i >= 0 {
		return fmt.Errorf("%s has a NUL byte at offset %d; the guest would see only what precedes it, remove it: %w", what, i, ErrLimit)
	}
	return nil
}

func checkRAM(ram []Range) (space, error) {
	if len(ram) == 0 {
		return nil, fmt.Errorf("boot: guest has no RAM: %w", ErrNoRoom)
	}
	sorted := slices.SortedFunc(slices.Values(ram), func(a, b Range) int { return cmp.Compare(a.GPA, b.GPA) })
	var s space
	for i, r := range sorted {
		if !r.valid() || r.GPA%pageSize != 0 || r.Size%pageSize != 0 {
			return nil, fmt.Errorf("boot: RAM range %#x+%#x is empty, wraps or is not page aligned: %w", r.GPA, r.Size, ErrLimit)
		}
		if i > 0 && r.overlaps(sorted[i-1]) {
			return nil, fmt.Errorf("boot: RAM ranges %#x+%#x and %#x+%#x overlap: %w", sorted[i-1].GPA, sorted[i-1].Size, r.GPA, r.Size, ErrLimit)
		}
		s = s.add(r)
	}
	return s, nil
}
