// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"fmt"
	"io"
	"log/slog"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// Range is a range of guest RAM in bytes, page aligned.
type Range struct{ GPA, Size uint64 }

// MemoryMapEntry is one entry of the memory map a guest is told (E820 types).
type MemoryMapEntry struct {
	Address, Size uint64
	Type          uint32
}

// Frames of the store and console rings where Config names none: the first of
// the special pages below 4 GiB, where guests and device models expect them.
// The memory map must reserve them.
const (
	DefaultStoreGFN   = 0xfeff8
	DefaultConsoleGFN = 0xfeff9
)

// maxGrantFrames bounds Config.MaxGrantFrames.
const maxGrantFrames = 1024

// Config describes a Domain.
type Config struct {
	VCPUs    int
	Memory   Memory
	Pages    PageAllocator
	RAM      []Range  // what of Memory is RAM
	Caches   *gpc.Set // of the same memory
	Platform Platform
	Log      *slog.Logger // nil discards
	UUID     [16]byte
	Name     string    // in xenstore
	DomID    abi.DomID // 0 means 1
	Version  uint32    // of Xen, major<<16 | minor; 0 means 4.17
	// CommandLine is the hypervisor's, as xen_version tells it.
	CommandLine string
	// ConsoleIO takes console_io output, ConsoleOut that of the PV console;
	// neither may block for long. ConsoleIn is the PV console's input. All may
	// be nil.
	ConsoleIO  io.Writer
	ConsoleOut io.Writer
	ConsoleIn  io.Reader
	MemoryMap  []MemoryMapEntry
	// MaxGrantFrames is how far the grant table may grow; 0 means 64.
	MaxGrantFrames       int
	StoreGFN, ConsoleGFN uint64 // 0 means the defaults
	// HypercallTrap is the instruction by which stub nr of the hypercall page
	// leaves the guest, at most MaxHypercallTrap bytes. Where it gives none, and if
	// it is nil, that is a 32-bit OUT to HypercallPort.
	HypercallTrap func(nr int) []byte
}

// MaxHypercallTrap is the room for an instruction in a stub, in bytes.
const MaxHypercallTrap = abi.HypercallPageStubSize - 6

// complete fills in defaults and checks the rest.
func (c *Config) complete() error {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.DomID == 0 {
		c.DomID = 1
	}
	if c.Version == 0 {
		c.Version = abi.XenVersion417
	}
	if c.MaxGrantFrames == 0 {
		c.MaxGrantFrames = 64
	}
	if c.StoreGFN == 0 {
		c.StoreGFN = DefaultStoreGFN
	}
	if c.ConsoleGFN == 0 {
		c.ConsoleGFN = DefaultConsoleGFN
	}
	switch {
	case c.VCPUs < 1:
		return fmt.Errorf("%w: %d vCPUs, need at least 1", errConfig, c.VCPUs)
	case c.Memory == nil, c.Pages == nil, c.Caches == nil, c.Platform == nil:
		return fmt.Errorf("%w: Memory, Pages, Caches and Platform are all needed", errConfig)
	case c.DomID >= abi.DomIDSelf:
		return fmt.Errorf("%w: domain id %#x is reserved, use 1 to 0x7fef", errConfig, c.DomID)
	case c.MaxGrantFrames < 1 || c.MaxGrantFrames > maxGrantFrames:
		return fmt.Errorf("%w: %d grant frames, use 1 to %d", errConfig, c.MaxGrantFrames, maxGrantFrames)
	case c.StoreGFN == c.ConsoleGFN:
		return fmt.Errorf("%w: store and console ring share frame %#x", errConfig, c.StoreGFN)
	case len(c.RAM) == 0:
		return fmt.Errorf("%w: no RAM ranges", errConfig)
	}
	for _, r := range c.RAM {
		if r.Size == 0 || (r.GPA|r.Size)&pageMask != 0 || r.GPA+r.Size < r.GPA {
			return fmt.Errorf("%w: RAM range %#x+%#x is empty, not page aligned or too big", errConfig, r.GPA, r.Size)
		}
	}
	return nil
}
