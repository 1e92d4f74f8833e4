// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"xenvmm/gpc"
)

var errNoMemory = errors.New("no memory")

// fakeMemory is RAM from 0 plus pages laid over any frame.
type fakeMemory struct {
	mu        sync.RWMutex
	ram       []byte
	over      map[uint64]*fakePage
	set       *gpc.Set
	discarded map[uint64]bool
	mapErr    error  // what Map fails with
	afterMap  func() // if set, called when Map and Unmap have made their change
	gone      map[uint64]bool
	onDirty   atomic.Pointer[func(gpa uint64)] // if set, called for each MarkDirty
}

type fakePage struct {
	data   []byte
	gfn    uint64
	mapped bool
}

type fakePages struct {
	m     *fakeMemory
	pages []*fakePage
}

func hostMemory(t testing.TB, n int) []byte {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(b) })
	return b
}

func newFakeMemory(t testing.TB, size int) *fakeMemory {
	m := &fakeMemory{ram: hostMemory(t, size), over: map[uint64]*fakePage{}, discarded: map[uint64]bool{}, gone: map[uint64]bool{}}
	set, err := gpc.NewSet(m, gpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.set = set
	return m
}

// at returns the n bytes at gpa, which lie in one page. Callers hold mu.
func (m *fakeMemory) at(gpa, n uint64) ([]byte, error) {
	if gpa&pageMask+n > pageSize {
		return nil, errNoMemory
	}
	if m.gone[gpa>>pageShift] {
		return nil, errNoMemory
	}
	if p := m.over[gpa>>pageShift]; p != nil {
		return p.data[gpa&pageMask:][:n], nil
	}
	if gpa >= uint64(len(m.ram)) {
		return nil, errNoMemory
	}
	return m.ram[gpa:][:n], nil
}

func (m *fakeMemory) each(p []byte, gpa uint64, f func(mine, theirs []byte)) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for check := range []int{0, 1} {
		q, a := p, gpa
		for len(q) > 0 {
			n := min(pageSize-a&pageMask, uint64(len(q)))
			b, err := m.at(a, n)
			if err != nil {
				return err
			}
			if check == 1 {
				f(q[:n], b)
			}
			q, a = q[n:], a+n
		}
	}
	return nil
}

func (m *fakeMemory) ReadAt(p []byte, gpa uint64) error {
	return m.each(p, gpa, func(a, b []byte) { copy(a, b) })
}

func (m *fakeMemory) WriteAt(p []byte, gpa uint64) error {
	return m.each(p, gpa, func(a, b []byte) { copy(b, a) })
}

func (m *fakeMemory) LoadUint32(gpa uint64) (uint32, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	b, err := m.at(gpa, 4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (m *fakeMemory) LoadUint64(gpa uint64) (uint64, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	b, err := m.at(gpa, 8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

func (m *fakeMemory) Discard(gfn, n uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range n {
		at := (gfn + i) << pageShift
		if at >= uint64(len(m.ram)) {
			return errNoMemory
		}
		clear(m.ram[at:][:pageSize])
		m.discarded[gfn+i] = true
	}
	return nil
}

func (m *fakeMemory) Resolve(gpa, n uint64) (uintptr, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	b, err := m.at(gpa, n)
	if err != nil {
		return 0, err
	}
	return uintptr(unsafe.Pointer(&b[0])), nil
}

func (m *fakeMemory) MarkDirty(gpa, n uint64) {
	if f := m.onDirty.Load(); f != nil {
		(*f)(gpa)
	}
}

// takeAway leaves a frame without memory until back is called.
func (m *fakeMemory) takeAway(gfn uint64) (back func()) {
	m.change(func() { m.gone[gfn] = true }, gfn)
	return func() { m.change(func() { delete(m.gone, gfn) }, gfn) }
}

type fakeAllocator struct {
	t testing.TB
	m *fakeMemory
}

func (a fakeAllocator) NewPages(name string, n int) (Pages, error) {
	p := &fakePages{m: a.m}
	b := hostMemory(a.t, n*pageSize)
	for i := range n {
		p.pages = append(p.pages, &fakePage{data: b[i*pageSize:][:pageSize]})
	}
	return p, nil
}

func (p *fakePages) window(idx int, off uint32, n int) ([]byte, error) {
	if idx < 0 || idx >= len(p.pages) || int(off)+n > pageSize {
		return nil, errNoMemory
	}
	return p.pages[idx].data[off:][:n], nil
}

func (p *fakePages) ReadAt(b []byte, idx int, off uint32) error {
	p.m.mu.RLock()
	defer p.m.mu.RUnlock()
	w, err := p.window(idx, off, len(b))
	copy(b, w)
	return err
}

func (p *fakePages) WriteAt(b []byte, idx int, off uint32) error {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	w, err := p.window(idx, off, len(b))
	copy(w, b)
	return err
}

func (p *fakePages) Load32(idx int, off uint32) (uint32, error) {
	p.m.mu.RLock()
	defer p.m.mu.RUnlock()
	w, err := p.window(idx, off, 4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(w), nil
}

func (p *fakePages) Store32(idx int, off uint32, v uint32) error {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], v)
	return p.WriteAt(b[:], idx, off)
}

func (p *fakePages) CompareAndSwap32(idx int, off uint32, old, v uint32) (bool, error) {
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	w, err := p.window(idx, off, 4)
	if err != nil || binary.LittleEndian.Uint32(w) != old {
		return false, err
	}
	binary.LittleEndian.PutUint32(w, v)
	return true, nil
}

// change runs f as a change of what is at gfns, with the notifications the
// real memory gives.
func (m *fakeMemory) change(f func(), gfns ...uint64) {
	for _, g := range gfns {
		_ = m.set.InvalidateStart(g<<pageShift, pageSize, true)
	}
	m.mu.Lock()
	f()
	m.mu.Unlock()
	for _, g := range gfns {
		m.set.InvalidateEnd(g<<pageShift, pageSize)
	}
}

func (p *fakePages) Map(idx int, gfn uint64) error {
	if p.m.mapErr != nil {
		return p.m.mapErr
	}
	pg := p.pages[idx]
	touched := []uint64{gfn}
	if pg.mapped && pg.gfn != gfn {
		touched = append(touched, pg.gfn)
	}
	p.m.change(func() {
		if o := p.m.over[gfn]; o != nil {
			o.mapped = false
		}
		if pg.mapped {
			delete(p.m.over, pg.gfn)
		}
		pg.gfn, pg.mapped = gfn, true
		p.m.over[gfn] = pg
	}, touched...)
	if p.m.afterMap != nil {
		p.m.afterMap()
	}
	return nil
}

func (p *fakePages) Unmap(idx int) error {
	pg := p.pages[idx]
	if !pg.mapped {
		return errNoMemory
	}
	p.m.change(func() {
		delete(p.m.over, pg.gfn)
		pg.mapped = false
	}, pg.gfn)
	if p.m.afterMap != nil {
		p.m.afterMap()
	}
	return nil
}

func (p *fakePages) GFN(idx int) (uint64, bool) {
	p.m.mu.RLock()
	defer p.m.mu.RUnlock()
	return p.pages[idx].gfn, p.pages[idx].mapped
}
