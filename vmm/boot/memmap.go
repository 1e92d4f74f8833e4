// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"cmp"
	"slices"

	"xenvmm/xenshim/abi"
)

// memoryMap builds the guest's memory map: RAM without what is reserved, the
// ACPI tables, and every reserved range, whether there is RAM behind it or
// not, so that a guest puts nothing of its own there.
func (pl *planner) memoryMap(acpiArea Range) []MapEntry {
	ram := pl.ram // reserved ranges are out of it already
	var reserved space
	for _, r := range pl.reserved() {
		reserved = reserved.add(r)
	}
	legacy := Range{legacyStart, legacyEnd - legacyStart}
	reserved = reserved.add(legacy)
	ram = ram.remove(legacy)
	if acpiArea.Size != 0 {
		ram, reserved = ram.remove(acpiArea), reserved.remove(acpiArea)
	}
	var out []MapEntry
	for _, r := range ram {
		out = append(out, MapEntry{r, abi.MemmapRAM})
	}
	for _, r := range reserved {
		out = append(out, MapEntry{r, abi.MemmapReserved})
	}
	if acpiArea.Size != 0 {
		out = append(out, MapEntry{acpiArea, abi.MemmapACPI})
	}
	slices.SortFunc(out, func(a, b MapEntry) int { return cmp.Compare(a.GPA, b.GPA) })
	return out
}
