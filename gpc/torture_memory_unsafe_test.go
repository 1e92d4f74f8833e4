// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A rackPage is a page of the torture at an address of its own. While it is
// retired, want is what it must hold until it is used again: anything else was
// written by somebody who had no business there.
type rackPage struct {
	addr uintptr
	want []byte
}

// rackPages makes the pages. While the contract forbids access they hold poison,
// or are away (inaccessible, other content mapped in their place, or dropped).
type rackPages struct {
	poison, zero []byte
	poisonFile   int // a page of poison, to map in the place of others
}

func newRackPages() *rackPages {
	k := &rackPages{poison: bytes.Repeat([]byte{poison & 0xff}, pageSize), zero: make([]byte, pageSize)}
	fd, err := unix.MemfdCreate("poison", unix.MFD_CLOEXEC)
	must(err)
	_, err = unix.Pwrite(fd, k.poison, 0)
	must(err)
	k.poisonFile = fd
	return k
}

func (p *rackPage) bytes() []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p.addr))), pageSize)
}

// mapFixed replaces what is mapped at addr in one step, so that nothing else can
// come to lie there in between.
func mapFixed(addr uintptr, prot, flags, fd int) {
	_, _, errno := unix.Syscall6(unix.SYS_MMAP, addr, pageSize, uintptr(prot), uintptr(flags|unix.MAP_FIXED), uintptr(fd), 0)
	if errno != 0 {
		panic(fmt.Sprintf("mmap at %#x: %v", addr, errno))
	}
}

const anonymous = unix.MAP_PRIVATE | unix.MAP_ANON

// retireWays are the ways to take a page away from whoever may still use it.
var retireWays = [...]string{"poisoned", "inaccessible", "mapped over", "dropped", "unmapped"}

// retire takes a page away that nobody may use any more.
func (k *rackPages) retire(p *rackPage, way int) {
	switch p.want = k.poison; retireWays[way] {
	case "poisoned":
		copy(p.bytes(), k.poison)
	case "inaccessible":
		copy(p.bytes(), k.poison)
		must(unix.Mprotect(p.bytes(), unix.PROT_NONE))
	case "mapped over": // the address is good, and belongs to something else
		mapFixed(p.addr, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE, k.poisonFile)
	case "dropped": // as a balloon does: reads as zero from now on
		must(unix.Madvise(p.bytes(), unix.MADV_DONTNEED))
		p.want = k.zero
		if p.bytes()[0] != 0 { // it was "mapped over" before
			mapFixed(p.addr, unix.PROT_READ|unix.PROT_WRITE, anonymous, -1)
		}
	case "unmapped": // the address stays reserved
		mapFixed(p.addr, unix.PROT_NONE, anonymous|unix.MAP_NORESERVE, -1)
		p.want = nil
	}
}

// take makes a retired page fit for use again, its content undefined.
func (k *rackPages) take(p *rackPage) {
	if p.want == nil {
		mapFixed(p.addr, unix.PROT_READ|unix.PROT_WRITE, anonymous, -1)
		return
	}
	must(unix.Mprotect(p.bytes(), unix.PROT_READ|unix.PROT_WRITE))
	k.check(p)
}

// check ends the process if somebody has written to a retired page. It is
// readable.
func (k *rackPages) check(p *rackPage) {
	got := p.bytes()
	if bytes.Equal(got, p.want) {
		return
	}
	for off := 0; ; off += 4 {
		if !bytes.Equal(got[off:off+4], p.want[off:off+4]) {
			staleAccess("word %#x of a retired page is %x, not %x", off, got[off:off+4], p.want[off:off+4])
		}
	}
}

// staleAccess ends the process: the guard has failed.
func staleAccess(format string, args ...any) {
	fmt.Printf("STALE ACCESS: "+format+"\n", args...)
	os.Exit(3)
}

func (k *rackPages) make() *rackPage {
	b, err := unix.Mmap(-1, 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, anonymous)
	must(err)
	return &rackPage{addr: uintptr(unsafe.Pointer(unsafe.SliceData(b)))}
}

// A rackFrame is one guest frame: a page, or, while its memory is away, a copy of
// what it held.
type rackFrame struct {
	mu   sync.Mutex
	page *rackPage
	away []byte
	_    [64]byte
}

// A rack is the guest's memory in the torture.
type rack struct {
	*rackPages
	frames [rackFrames]rackFrame
}

// stamp is what each frame holds at each place where a cache can be looked at
// for whether it is where it should be. It is never poison, nor zero.
func stamp(gfn uint64) uint32 { return 0xc0de0001 | uint32(gfn)<<8 }

func newRack() *rack {
	m := &rack{rackPages: newRackPages()}
	for gfn := range m.frames {
		p := m.make()
		word := func(off uint32) *uint32 { return (*uint32)(unsafe.Pointer(&p.bytes()[off])) }
		for _, off := range stampOffsets {
			*word(off) = stamp(uint64(gfn))
		}
		m.frames[gfn].page = p
	}
	return m
}

func (m *rack) Resolve(gpa, n uint64) (uintptr, error) {
	f := &m.frames[gpa/pageSize]
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.page == nil {
		return 0, fmt.Errorf("resolve %#x: %w", gpa, errHole)
	}
	return f.page.addr + uintptr(gpa%pageSize), nil
}

func (m *rack) MarkDirty(gpa, n uint64) {}

// exchange puts next in the place of the frame's page, with its content, and
// returns the page that was there: nil if the memory was away and is back now.
func (f *rackFrame) exchange(next *rackPage) (old *rackPage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, f.page = f.page, next
	if old != nil {
		copy(next.bytes(), old.bytes())
	} else {
		copy(next.bytes(), f.away)
		f.away = nil
	}
	return old
}

// takeAway leaves the frame without memory. It returns nil if it had none.
func (f *rackFrame) takeAway() (old *rackPage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.page == nil {
		return nil
	}
	f.away = bytes.Clone(f.page.bytes())
	old, f.page = f.page, nil
	return old
}

// rawAdd adds to the word at hva the way a guest does, with no section around it.
func rawAdd(hva uintptr) {
	*(*uint32)(*(*unsafe.Pointer)(unsafe.Pointer(&hva)))++
}

// freshMemory is memory that is not there before it is touched.
type freshMemory struct{ all, page []byte }

const largePage = 2 << 20

// newFreshMemory tries to have the kernel bring it in large pages, and says why
// it does not.
func newFreshMemory() (f *freshMemory, why error) {
	all, err := unix.Mmap(-1, 0, 2*largePage, unix.PROT_READ|unix.PROT_WRITE, anonymous)
	must(err)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(all))) % largePage
	f = &freshMemory{all, all[skip : skip+largePage]}
	return f, unix.Madvise(f.page, unix.MADV_HUGEPAGE)
}

// drop returns the first page of it, untouched.
func (f *freshMemory) drop() []byte {
	must(unix.Madvise(f.page, unix.MADV_DONTNEED))
	return f.page[:pageSize]
}

func (f *freshMemory) word(off uint32) uint32 { return *(*uint32)(unsafe.Pointer(&f.page[off])) }

func (f *freshMemory) unmap() { must(unix.Munmap(f.all)) }
