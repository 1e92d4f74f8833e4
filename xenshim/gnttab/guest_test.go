// SPDX-License-Identifier: Apache-2.0

package gnttab

import (
	"encoding/binary"
	"errors"
	"sync"
	"testing"

	"xenvmm/xenshim/abi"
	"xenvmm/xenshim/internal/sharedpage"
)

// frames is the table's memory; hook, if set, runs before a compare-and-swap,
// where a guest on another CPU might act.
type frames struct {
	pages []sharedpage.Page
	hook  func(frame int, off uint32)
	loads map[uint32]int // reads of each frame field, by reference, if not nil
}

func (f *frames) ReadAt(n int, p []byte, off uint32) error  { return f.pages[n].ReadAt(p, off) }
func (f *frames) WriteAt(n int, p []byte, off uint32) error { return f.pages[n].WriteAt(p, off) }

func (f *frames) Load32(n int, off uint32) (uint32, error) {
	if f.loads != nil && off%8 == abi.GrantEntryV1FrameOffset {
		f.loads[uint32(n)*abi.GrantEntriesV1PerFrame+off/8]++
	}
	return f.pages[n].Load32(off)
}

func (f *frames) CompareAndSwap32(n int, off, old, new uint32) (bool, error) {
	if f.hook != nil {
		f.hook(n, off)
	}
	return f.pages[n].CompareAndSwap32(off, old, new)
}

// ram is guest memory of a few pages from gfn 16 on.
type ram struct {
	mu sync.Mutex
	b  [8 * abi.PageSize]byte
}

const ramBase = 16 << abi.PageShift

var errNotRAM = errors.New("not RAM")

func (r *ram) Contains(gpa, n uint64) bool {
	return gpa >= ramBase && n <= uint64(len(r.b)) && gpa-ramBase <= uint64(len(r.b))-n
}

func (r *ram) ReadAt(p []byte, gpa uint64) error {
	if !r.Contains(gpa, uint64(len(p))) {
		return errNotRAM
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	copy(p, r.b[gpa-ramBase:])
	return nil
}

func (r *ram) WriteAt(p []byte, gpa uint64) error {
	if !r.Contains(gpa, uint64(len(p))) {
		return errNotRAM
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	copy(r.b[gpa-ramBase:], p)
	return nil
}

type fixture struct {
	*Table
	t   testing.TB
	mem *frames
	ram *ram
}

func newFixture(t testing.TB, max int) *fixture {
	t.Helper()
	f := &fixture{t: t, mem: &frames{pages: make([]sharedpage.Page, max)}, ram: &ram{}}
	var err error
	f.Table, err = New(Config{MaxFrames: max, Memory: f.mem, RAM: f.ram, Domain: 7, ConsoleGFN: 0xfeff8, StoreGFN: 0xfeff9})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// grant writes an entry as the guest does: frame and domain, then flags.
func (f *fixture) grant(ref uint32, flags uint16, dom abi.DomID, frame uint32) {
	f.t.Helper()
	var e [8]byte
	encodeEntry(&e, flags, dom, frame)
	n, off := entry(ref)
	if err := f.mem.WriteAt(n, e[4:], off+4); err != nil {
		f.t.Fatal(err)
	}
	if err := f.mem.pages[n].Store32(off, binary.LittleEndian.Uint32(e[:])); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) flags(ref uint32) uint16 {
	f.t.Helper()
	n, off := entry(ref)
	w, err := f.mem.pages[n].Load32(off)
	if err != nil {
		f.t.Fatal(err)
	}
	return uint16(w)
}
