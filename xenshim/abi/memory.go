// SPDX-License-Identifier: Apache-2.0

package abi

// MemoryReservation holds the byte offsets in struct xen_memory_reservation
// (public/memory.h) for one width. ExtentStart and NrExtents are guest words.
type MemoryReservation struct {
	Size, ExtentStart, NrExtents, ExtentOrder, MemFlags, DomID uint32
}

// MemoryReservationLayout returns the layout for w.
func MemoryReservationLayout(w Width) MemoryReservation {
	if w == Width32 {
		return MemoryReservation{Size: 20, ExtentStart: 0, NrExtents: 4, ExtentOrder: 8, MemFlags: 12, DomID: 16}
	}
	return MemoryReservation{Size: 32, ExtentStart: 0, NrExtents: 8, ExtentOrder: 16, MemFlags: 20, DomID: 24}
}

// AddToPhysmap holds the byte offsets in struct xen_add_to_physmap
// (public/memory.h). Idx and GPFN are guest words.
type AddToPhysmap struct {
	Size, DomID, Count, Space, Idx, GPFN uint32
}

// AddToPhysmapLayout returns the layout for w.
func AddToPhysmapLayout(w Width) AddToPhysmap {
	if w == Width32 {
		return AddToPhysmap{Size: 16, DomID: 0, Count: 2, Space: 4, Idx: 8, GPFN: 12}
	}
	return AddToPhysmap{Size: 24, DomID: 0, Count: 2, Space: 4, Idx: 8, GPFN: 16}
}

// AddToPhysmapBatch holds the byte offsets in struct
// xen_add_to_physmap_batch (public/memory.h). Idxs, GPFNs and Errs are guest
// pointers to arrays of words, words and 32-bit integers.
type AddToPhysmapBatch struct {
	Size, DomID, Space, Count, Extra, Idxs, GPFNs, Errs uint32
}

// AddToPhysmapBatchLayout returns the layout for w.
func AddToPhysmapBatchLayout(w Width) AddToPhysmapBatch {
	if w == Width32 {
		return AddToPhysmapBatch{Size: 20, DomID: 0, Space: 2, Count: 4, Extra: 6, Idxs: 8, GPFNs: 12, Errs: 16}
	}
	return AddToPhysmapBatch{Size: 32, DomID: 0, Space: 2, Count: 4, Extra: 6, Idxs: 8, GPFNs: 16, Errs: 24}
}

// RemoveFromPhysmap holds the byte offsets in struct
// xen_remove_from_physmap (public/memory.h). GPFN is a guest word.
type RemoveFromPhysmap struct{ Size, DomID, GPFN uint32 }

// RemoveFromPhysmapLayout returns the layout for w.
func RemoveFromPhysmapLayout(w Width) RemoveFromPhysmap {
	if w == Width32 {
		return RemoveFromPhysmap{Size: 8, DomID: 0, GPFN: 4}
	}
	return RemoveFromPhysmap{Size: 16, DomID: 0, GPFN: 8}
}

// MemoryMap holds the byte offsets in struct xen_memory_map
// (public/memory.h). NrEntries is 32 bits wide, Buffer a guest pointer.
type MemoryMap struct{ Size, NrEntries, Buffer uint32 }

// MemoryMapLayout returns the layout for w.
func MemoryMapLayout(w Width) MemoryMap {
	if w == Width32 {
		return MemoryMap{Size: 8, NrEntries: 0, Buffer: 4}
	}
	return MemoryMap{Size: 16, NrEntries: 0, Buffer: 8}
}

// Limits and formats of memory_op.
const (
	// E820EntrySize is the packed size of one memory map entry: 64-bit
	// address, 64-bit size, 32-bit type.
	E820EntrySize = 20
	// MemopMaxOrder is the largest extent an unprivileged domain may ask
	// for, as a power of two pages (Xen's memop-max-order default).
	MemopMaxOrder = 9
	// MemopExtentShift is where the first extent to handle starts in the
	// command word.
	MemopExtentShift = 6
	// MemfPopulateOnDemand is the flag a domain may not use on itself.
	MemfPopulateOnDemand = 1 << 16
)
