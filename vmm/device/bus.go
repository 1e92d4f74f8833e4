// SPDX-License-Identifier: Apache-2.0

package device

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Device is an emulated device as a bus sees it. off counts from the start of
// the range it was mapped with; off+len(p) stays inside the range; len(p) is 1
// to 8. Read fills all of p. Values are little endian.
type Device interface {
	Read(off uint64, p []byte)
	Write(off uint64, p []byte)
}

// ErrOverlap: two devices would claim the same addresses.
var ErrOverlap = errors.New("address range is taken")

// ErrRange: an address range is empty, wraps or leaves the bus.
var ErrRange = errors.New("bad address range")

// ErrNotMapped: no range starts there.
var ErrNotMapped = errors.New("not mapped")

// mapping is one claimed range; last is inclusive, so that a range may end at
// the top of the address space.
type mapping struct {
	first, last uint64
	name        string
	dev         Device
}

// Bus is one address space. Use NewPorts or NewMMIO.
type Bus struct {
	name string
	top  uint64 // highest address

	mu  sync.Mutex                // serialises changes
	tab atomic.Pointer[[]mapping] // sorted, never modified once published
}

func newBus(name string, top uint64) *Bus {
	b := &Bus{name: name, top: top}
	b.tab.Store(&[]mapping{})
	return b
}

// NewMMIO makes the bus for guest physical addresses that have no memory
// behind them.
func NewMMIO() *Bus { return newBus("MMIO", ^uint64(0)) }

// Map claims size addresses from base on for dev. The name is for messages.
func (b *Bus) Map(name string, base, size uint64, dev Device) error {
	last := base + size - 1
	if size == 0 || last < base || last > b.top {
		return fmt.Errorf("device: map %s at %s %#x+%#x: %w (highest address is %#x)", name, b.name, base, size, ErrRange, b.top)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	old := *b.tab.Load()
	for _, m := range old {
		if base <= m.last && m.first <= last {
			return fmt.Errorf("device: map %s at %s %#x-%#x: %w by %s at %#x-%#x", name, b.name, base, last, ErrOverlap, m.name, m.first, m.last)
		}
	}
	tab := append(slices.Clone(old), mapping{base, last, name, dev})
	slices.SortFunc(tab, func(x, y mapping) int { return cmp.Compare(x.first, y.first) })
	b.tab.Store(&tab)
	return nil
}

// Unmap gives up the range that starts at base. An access in progress on
// another thread may still reach the device after Unmap has returned.
func (b *Bus) Unmap(base uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := *b.tab.Load()
	for i, m := range old {
		if m.first == base {
			tab := slices.Delete(slices.Clone(old), i, i+1)
			b.tab.Store(&tab)
			return nil
		}
	}
	return fmt.Errorf("device: unmap %s %#x: %w", b.name, base, ErrNotMapped)
}

// Read performs one read of len(p) bytes. It returns false if no device
// answered any part of it.
func (b *Bus) Read(addr uint64, p []byte) bool { return b.access(addr, p, false) }

// Write performs one write of len(p) bytes. It returns false if no device
// took any part of it.
func (b *Bus) Write(addr uint64, p []byte) bool { return b.access(addr, p, true) }

// maxAccess is the widest single access a device sees.
const maxAccess = 8

// access walks over the ranges that addr..addr+len(p)-1 touches. Addresses
// past the top of the bus belong to nobody (they do not wrap around).
func (b *Bus) access(addr uint64, p []byte, write bool) (claimed bool) {
	tab := *b.tab.Load()
	i := find(tab, addr)
	for len(p) > 0 {
		for i < len(tab) && tab[i].last < addr {
			i++
		}
		if i == len(tab) || addr > b.top {
			break
		}
		m := &tab[i]
		if addr < m.first {
			gap := m.first - addr
			if gap >= uint64(len(p)) {
				break
			}
			if !write {
				ones(p[:gap])
			}
			addr, p = m.first, p[gap:]
			continue
		}
		n := min(len(p), maxAccess)
		if left := m.last - addr; left < uint64(n) {
			n = int(left) + 1
			n = min(n, len(p), maxAccess)
		}
		if write {
			m.dev.Write(addr-m.first, p[:n])
		} else {
			m.dev.Read(addr-m.first, p[:n])
		}
		claimed = true
		p = p[n:]
		if addr += uint64(n); addr == 0 { // past the top of 64 bits
			break
		}
	}
	if !write {
		ones(p)
	}
	return claimed
}

// find returns the index of the first mapping that ends at or after addr.
func find(tab []mapping, addr uint64) int {
	lo, hi := 0, len(tab)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if tab[mid].last < addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func ones(p []byte) {
	for i := range p {
		p[i] = 0xff
	}
}
