// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

var errHole = errors.New("nothing is mapped here")

// A hostPage is a page of its own mapping, outside the Go heap.
type hostPage struct {
	bytes []byte
}

func newHostPage() *hostPage {
	b, err := unix.Mmap(-1, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_POPULATE)
	if err != nil {
		panic(err)
	}
	return &hostPage{b}
}

func (p *hostPage) addr() uintptr { return uintptr(unsafe.Pointer(&p.bytes[0])) }

// word returns the 32-bit word at byte offset off.
func (p *hostPage) word(off uint32) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&p.bytes[off : off+4][0]))
}

// forbid makes every access to the page fault.
func (p *hostPage) forbid() { must(unix.Mprotect(p.bytes, unix.PROT_NONE)) }

func (p *hostPage) allow() { must(unix.Mprotect(p.bytes, unix.PROT_READ|unix.PROT_WRITE)) }

func (p *hostPage) unmap() {
	must(unix.Munmap(p.bytes))
	p.bytes = nil
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// A guestMemory is a Resolver whose pages tests exchange and take away.
type guestMemory struct {
	mu       sync.RWMutex
	pages    map[uint64]*hostPage // by gfn
	resolves atomic.Int64
	dirty    [16]atomic.Int64 // MarkDirty calls by gfn

	// onResolve, if set, runs in each Resolve, before the look-up and again,
	// with the answer in hand, after it.
	onResolve func(before bool)
}

// newGuestMemory has pages at the given frames.
func newGuestMemory(t testing.TB, gfns ...uint64) *guestMemory {
	m := &guestMemory{pages: map[uint64]*hostPage{}}
	for _, gfn := range gfns {
		m.pages[gfn] = newHostPage()
	}
	t.Cleanup(func() {
		for _, p := range m.pages {
			p.unmap()
		}
	})
	return m
}

func (m *guestMemory) Resolve(gpa, n uint64) (uintptr, error) {
	m.resolves.Add(1)
	if m.onResolve != nil {
		m.onResolve(true)
		defer m.onResolve(false)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	p := m.pages[gpa/pageSize]
	if p == nil || n == 0 || gpa%pageSize+n > pageSize {
		return 0, fmt.Errorf("resolve [%#x, +%#x): %w", gpa, n, errHole)
	}
	return p.addr() + uintptr(gpa%pageSize), nil
}

func (m *guestMemory) MarkDirty(gpa, n uint64) { m.dirty[gpa/pageSize%16].Add(1) }

func (m *guestMemory) page(gfn uint64) *hostPage {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.pages[gfn]
}

// put makes p the page at gfn and returns the one that was there; nil is none.
func (m *guestMemory) put(gfn uint64, p *hostPage) (old *hostPage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	old = m.pages[gfn]
	if m.pages[gfn] = p; p == nil {
		delete(m.pages, gfn)
	}
	return old
}

// replace does what a change of memory does: invalidate, unmap, map anew.
func (m *guestMemory) replace(t testing.TB, s *Set, gfn uint64) {
	t.Helper()
	if err := s.InvalidateStart(gfn*pageSize, pageSize, true); err != nil {
		t.Fatal(err)
	}
	m.put(gfn, newHostPage()).unmap()
	s.InvalidateEnd(gfn*pageSize, pageSize)
}

func (p *hostPage) zero() {
	for off := uint32(0); off < pageSize; off += 4 {
		p.word(off).Store(0)
	}
}
