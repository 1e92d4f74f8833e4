// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"xenvmm/gpc"
)

const pageSize = 4096

// memory is a guest's pages in a memfd. Each page has a host mapping for each
// gfn it is at, which really goes away: an access by a stale pointer faults. The
// simulated guest sees the pages through one more mapping that stays.
type memory struct {
	set  *gpc.Set
	fd   int
	view unsafe.Pointer
	n    int

	mu   sync.Mutex
	gfns map[uint64]home
}

type home struct {
	page int
	hva  unsafe.Pointer
}

var errHole = errors.New("hole")

func newMemory(t harness, pages int) *memory {
	fd, err := unix.MemfdCreate("guest", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Ftruncate(fd, int64(pages)*pageSize); err != nil {
		t.Fatal(err)
	}
	m := &memory{fd: fd, n: pages, gfns: map[uint64]home{}}
	m.view = m.mmap(0, pages)
	t.Cleanup(m.close)
	return m
}

func (m *memory) close() {
	for _, h := range m.gfns {
		m.munmap(h.hva, 1)
	}
	m.munmap(m.view, m.n)
	unix.Close(m.fd)
}

func (m *memory) mmap(page, n int) unsafe.Pointer {
	p, err := unix.MmapPtr(m.fd, int64(page)*pageSize, nil, uintptr(n)*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		panic(err)
	}
	return p
}

func (m *memory) munmap(p unsafe.Pointer, n int) {
	if err := unix.MunmapPtr(p, uintptr(n)*pageSize); err != nil {
		panic(err)
	}
}

func (m *memory) Resolve(gpa, n uint64) (uintptr, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, ok := m.gfns[gpa/pageSize]
	if !ok {
		return 0, fmt.Errorf("%#x: %w", gpa, errHole)
	}
	return uintptr(h.hva) + uintptr(gpa%pageSize), nil
}

func (m *memory) MarkDirty(gpa, n uint64) {}

// change runs one transaction on gfn. page < 0 leaves a hole, else the page is
// there afterwards, by a mapping of its own.
func (m *memory) change(gfn uint64, page int) {
	if err := m.set.InvalidateStart(gfn*pageSize, pageSize, true); err != nil {
		panic(err)
	}
	m.mu.Lock()
	old, had := m.gfns[gfn]
	delete(m.gfns, gfn)
	if page >= 0 {
		m.gfns[gfn] = home{page, m.mmap(page, 1)}
	}
	if had {
		m.munmap(old.hva, 1)
	}
	m.mu.Unlock()
	m.set.InvalidateEnd(gfn*pageSize, pageSize)
}

// rehome moves what is at gfn to another host address.
func (m *memory) rehome(gfn uint64) {
	m.mu.Lock()
	h, ok := m.gfns[gfn]
	m.mu.Unlock()
	if ok {
		m.change(gfn, h.page)
	}
}

// word is an aligned word of a page, as the guest sees it.
func (m *memory) word(page int, off uint32) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Add(m.view, page*pageSize+int(off&^3)))
}

// orBit sets a bit and reports the old one; andBit clears it.
func (m *memory) orBit(page int, off, bit uint32) bool {
	return m.word(page, off+bit/32*4).Or(1<<(bit%32))>>(bit%32)&1 != 0
}

func (m *memory) andBit(page int, off, bit uint32) bool {
	return m.word(page, off+bit/32*4).And(^(uint32(1)<<(bit%32)))>>(bit%32)&1 != 0
}

func (m *memory) bit(page int, off, bit uint32) bool {
	return m.word(page, off+bit/32*4).Load()>>(bit%32)&1 != 0
}

// bytes is a page as the guest sees it.
func (m *memory) bytes(page int) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(m.view, page*pageSize)), pageSize)
}
