// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"io"
	"time"
)

// Config says which host to boot. The zero value is a good host.
type Config struct {
	Kernel     string        // a name of kernel.Specs; default debian-6.12
	CPUs       int           // for programs: 1 to 16, default 2. An emulated host has one more
	MemoryMiB  int           // default 2048; the emulator uses what is touched
	Accel      Accel         // default AccelAuto
	NICs       []NIC         // network interfaces; default none
	Modules    []string      // more kernel modules to load, with what they need
	KernelArgs string        // more kernel command line
	Devices    []string      // more arguments for QEMU, as they are
	WithoutKVM bool          // don't insist on /dev/kvm inside
	Init       string        // the init's program; default see InitProgram
	Console    io.Writer     // gets a copy of the console
	BootLimit  time.Duration // default 2 minutes
	NoSetup    bool          // fail, rather than download, where the kernel isn't in the cache
	// Note receives a line about every step that may take long.
	Note func(format string, args ...any)
}

// Limits of a Config.
const (
	maxCPUs      = 16
	minMemoryMiB = 512
	maxMemoryMiB = 64 << 10
)

// withDefaults checks c and fills it in.
func (c Config) withDefaults() (Config, error) {
	if c.CPUs == 0 {
		c.CPUs = 2
	}
	if c.MemoryMiB == 0 {
		c.MemoryMiB = 2048
	}
	if c.BootLimit == 0 {
		c.BootLimit = 2 * time.Minute
	}
	if c.Note == nil {
		c.Note = func(string, ...any) {}
	}
	if c.CPUs < 1 || c.CPUs > maxCPUs {
		return c, fmt.Errorf("lab: %d CPUs: use 1 to %d", c.CPUs, maxCPUs)
	}
	if c.MemoryMiB < minMemoryMiB || c.MemoryMiB > maxMemoryMiB {
		return c, fmt.Errorf("lab: %d MiB of memory: use %d to %d", c.MemoryMiB, minMemoryMiB, maxMemoryMiB)
	}
	if len(c.NICs) > maxNICs {
		return c, fmt.Errorf("lab: %d NICs: use up to %d", len(c.NICs), maxNICs)
	}
	nics := make([]NIC, 0, len(c.NICs))
	for _, n := range c.NICs {
		n, err := n.withDefaults()
		if err != nil {
			return c, err
		}
		nics = append(nics, n)
	}
	c.NICs = nics
	return c, nil
}
