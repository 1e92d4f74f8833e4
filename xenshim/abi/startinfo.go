// SPDX-License-Identifier: Apache-2.0

package abi

// The PVH boot block: struct hvm_start_info and what it points to
// (public/arch-x86/hvm/start_info.h). All fields are little endian; an address
// of zero means "absent".
const (
	StartInfoMagic   = 0x336ec578 // "xEn3" with the top bit of the E set
	StartInfoVersion = 1          // the first version with a memory map

	StartInfoOffMagic      = 0  // u32
	StartInfoOffVersion    = 4  // u32
	StartInfoOffFlags      = 8  // u32
	StartInfoOffModules    = 12 // u32 number of modules
	StartInfoOffModlist    = 16 // u64 address
	StartInfoOffCmdline    = 24 // u64 address
	StartInfoOffRSDP       = 32 // u64 address
	StartInfoOffMemmap     = 40 // u64 address
	StartInfoOffMemmapSize = 48 // u32 number of entries
	StartInfoSize          = 56

	// struct hvm_modlist_entry
	ModlistOffAddr    = 0  // u64
	ModlistOffSize    = 8  // u64
	ModlistOffCmdline = 16 // u64 address of the module's own command line
	ModlistEntrySize  = 32

	// struct hvm_memmap_table_entry
	MemmapOffAddr   = 0  // u64
	MemmapOffSize   = 8  // u64
	MemmapOffType   = 16 // u32, a MemmapType
	MemmapEntrySize = 24
)

// MemmapType is the type of a memory map entry; the values are those of the
// PC's E820 map.
type MemmapType uint32

// Memory map types (XEN_HVM_MEMMAP_TYPE_*).
const (
	MemmapRAM      MemmapType = 1
	MemmapReserved MemmapType = 2
	MemmapACPI     MemmapType = 3 // tables; RAM once the guest has read them
	MemmapNVS      MemmapType = 4
	MemmapUnusable MemmapType = 5
	MemmapDisabled MemmapType = 6
	MemmapPMEM     MemmapType = 7
)

// String names the type as listings of memory maps do.
func (t MemmapType) String() string {
	switch t {
	case MemmapRAM:
		return "RAM"
	case MemmapReserved:
		return "reserved"
	case MemmapACPI:
		return "ACPI"
	case MemmapNVS:
		return "NVS"
	case MemmapUnusable:
		return "unusable"
	case MemmapDisabled:
		return "disabled"
	case MemmapPMEM:
		return "PMEM"
	}
	return "unknown"
}
