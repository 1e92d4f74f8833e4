// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
	"sync/atomic"
)

// The word operations are atomic and sequentially consistent with respect to
// all vCPUs and to each other. gpa must be a multiple of the word's size. They
// fail with ErrNoMemory or ErrUnaligned and do not allocate otherwise.

// LoadUint32 reads the word at gpa.
func (m *Memory) LoadUint32(gpa uint64) (uint32, error) {
	e, r, err := m.enterWord("load", gpa, 4)
	if err != nil {
		return 0, err
	}
	w := atomic.LoadUint32(word32(r.base, gpa-r.gpa))
	e.exit()
	return w, nil
}

// StoreUint32 writes the word at gpa.
func (m *Memory) StoreUint32(gpa uint64, w uint32) error {
	e, r, err := m.enterWord("store", gpa, 4)
	if err != nil {
		return err
	}
	atomic.StoreUint32(word32(r.base, gpa-r.gpa), w)
	e.exit()
	m.MarkDirty(gpa, 4)
	return nil
}

// CompareAndSwapUint32 replaces the word at gpa by w if it is old.
func (m *Memory) CompareAndSwapUint32(gpa uint64, old, w uint32) (swapped bool, err error) {
	e, r, err := m.enterWord("compare and swap", gpa, 4)
	if err != nil {
		return false, err
	}
	swapped = atomic.CompareAndSwapUint32(word32(r.base, gpa-r.gpa), old, w)
	e.exit()
	if swapped {
		m.MarkDirty(gpa, 4)
	}
	return swapped, nil
}

// OrUint32 sets bits in the word at gpa and returns what it was before.
func (m *Memory) OrUint32(gpa uint64, bits uint32) (old uint32, err error) {
	e, r, err := m.enterWord("or", gpa, 4)
	if err != nil {
		return 0, err
	}
	old = atomic.OrUint32(word32(r.base, gpa-r.gpa), bits)
	e.exit()
	m.MarkDirty(gpa, 4)
	return old, nil
}

// LoadUint64 reads the 64-bit word at gpa.
func (m *Memory) LoadUint64(gpa uint64) (uint64, error) {
	e, r, err := m.enterWord("load", gpa, 8)
	if err != nil {
		return 0, err
	}
	w := atomic.LoadUint64(word64(r.base, gpa-r.gpa))
	e.exit()
	return w, nil
}

// StoreUint64 writes the 64-bit word at gpa.
func (m *Memory) StoreUint64(gpa uint64, w uint64) error {
	e, r, err := m.enterWord("store", gpa, 8)
	if err != nil {
		return err
	}
	atomic.StoreUint64(word64(r.base, gpa-r.gpa), w)
	e.exit()
	m.MarkDirty(gpa, 8)
	return nil
}

// enterWord begins a section and finds the region of an aligned word, which
// cannot cross into another since regions are whole pages. On an error the
// section is over.
func (m *Memory) enterWord(op string, gpa, size uint64) (*lent, *region, error) {
	if gpa&(size-1) != 0 {
		return nil, nil, wordError(op, gpa, size)
	}
	e, v, err := m.enter()
	if err != nil {
		return nil, nil, err
	}
	r := v.find(gpa)
	if r == nil {
		e.exit()
		return nil, nil, accessError(op, gpa, size)
	}
	return e, r, nil
}

//go:noinline
func wordError(op string, gpa, size uint64) error {
	return fmt.Errorf("%s %d-byte word of guest memory at %#x: %w", op, size, gpa, ErrUnaligned)
}
