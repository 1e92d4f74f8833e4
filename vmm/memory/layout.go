// SPDX-License-Identifier: Apache-2.0

package memory

import "fmt"

// PageSize is the unit of everything that is mapped, in bytes.
const PageSize = 4096

const pageMask = PageSize - 1

// The shape of guest-physical space, in bytes.
const (
	// LowLimit is where RAM stops below 4 GiB. The GiB above it is for devices:
	// PCI BARs, special pages and ACPI near 0xfeff8000, IOAPIC 0xfec00000, local
	// APIC 0xfee00000.
	LowLimit = 3 << 30
	// HighBase is where RAM goes on.
	HighBase = 4 << 30
	// MinSize is the least RAM: the legacy area that any x86 guest expects.
	MinSize = 1 << 20
	// MaxSize is the most RAM. It keeps all RAM below the AMD HyperTransport
	// hole (0xfd00000000), where device DMA cannot reach, and within the 40
	// address bits that every host processor has.
	MaxSize = 512 << 30
	// MaxGPA is the end of guest-physical space: 52 bits are the most an x86
	// page table can hold. KVM refuses what the host's processor cannot reach.
	MaxGPA = 1 << 52
)

// Range is a guest-physical range in bytes.
type Range struct{ GPA, Size uint64 }

// End is the first address after the range.
func (r Range) End() uint64 { return r.GPA + r.Size }

// Layout is where size bytes of RAM lie, without making any: what Ranges returns
// for a Memory of that size. Errors are those of New.
func Layout(size uint64) ([]Range, error) {
	switch {
	case size == 0:
		return nil, fmt.Errorf("memory size is 0: give the guest at least %s", bytes(MinSize))
	case size&pageMask != 0:
		return nil, fmt.Errorf("memory size %s is not a multiple of %d bytes: use %d or %d: %w",
			bytes(size), PageSize, size&^pageMask, size&^pageMask+PageSize, ErrUnaligned)
	case size < MinSize:
		return nil, fmt.Errorf("memory size %s is less than the minimum of %s: %w", bytes(size), bytes(MinSize), ErrRange)
	case size > MaxSize:
		return nil, fmt.Errorf("memory size %s is more than the maximum of %s: %w", bytes(size), bytes(MaxSize), ErrRange)
	case size <= LowLimit:
		return []Range{{0, size}}, nil
	}
	return []Range{{0, LowLimit}, {HighBase, size - LowLimit}}, nil
}

// bytes formats a size exactly, with the largest unit that divides it.
func bytes(n uint64) string {
	for _, u := range [...]struct {
		shift uint
		name  string
	}{{40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n != 0 && n&(1<<u.shift-1) == 0 {
			return fmt.Sprintf("%d %s", n>>u.shift, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// checkPages tells whether [gpa, gpa+size) is a non-empty, page-aligned range
// of guest-physical space.
func checkPages(gpa, size uint64) error {
	if (gpa|size)&pageMask != 0 {
		return fmt.Errorf("[%#x, +%#x): %w to %d bytes", gpa, size, ErrUnaligned, PageSize)
	}
	if size == 0 || gpa >= MaxGPA || size > MaxGPA-gpa {
		return fmt.Errorf("[%#x, +%#x): %w of guest-physical space (0 to %#x)", gpa, size, ErrRange, uint64(MaxGPA))
	}
	return nil
}
