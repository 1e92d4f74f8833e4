// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"fmt"

	"xenvmm/vmm/memory"
	"xenvmm/xenshim"
	"xenvmm/xenshim/abi"
)

// pageAllocator gives the domain host pages of the machine's memory.
type pageAllocator struct{ mem *memory.Memory }

// NewPages implements xenshim.PageAllocator.
func (a pageAllocator) NewPages(name string, n int) (xenshim.Pages, error) {
	p, err := a.mem.NewPages(name, n)
	if err != nil {
		return nil, err
	}
	return hostPages{a.mem, p}, nil
}

// sharedInfoFinder is a pageAllocator that keeps which pages are the domain's
// shared_info.
type sharedInfoFinder struct {
	pageAllocator
	found *hostPages
}

// NewPages implements xenshim.PageAllocator.
func (f sharedInfoFinder) NewPages(name string, n int) (xenshim.Pages, error) {
	p, err := f.pageAllocator.NewPages(name, n)
	if h, ok := p.(hostPages); ok && name == xenshim.SharedInfoPages {
		*f.found = h
	}
	return p, err
}

// hostPages is memory.Pages addressed by page and offset.
type hostPages struct {
	mem *memory.Memory
	p   *memory.Pages
}

// at is the offset of n bytes at off in page idx, which they must not leave.
func (h hostPages) at(idx int, off uint32, n int) (uint64, error) {
	if idx < 0 || idx >= h.p.Len() || n > abi.PageSize || off > abi.PageSize-uint32(n) {
		return 0, fmt.Errorf("%s: %d bytes at offset %#x of page %d lie outside its %d pages", h.p.Name(), n, off, idx, h.p.Len())
	}
	return uint64(idx)*abi.PageSize + uint64(off), nil
}

func (h hostPages) ReadAt(b []byte, idx int, off uint32) error {
	o, err := h.at(idx, off, len(b))
	if err != nil {
		return err
	}
	return h.p.ReadAt(b, o)
}

func (h hostPages) WriteAt(b []byte, idx int, off uint32) error {
	o, err := h.at(idx, off, len(b))
	if err != nil {
		return err
	}
	return h.p.WriteAt(b, o)
}

func (h hostPages) Load32(idx int, off uint32) (uint32, error) {
	o, err := h.at(idx, off, 4)
	if err != nil {
		return 0, err
	}
	return h.p.LoadUint32(o)
}

func (h hostPages) Store32(idx int, off uint32, v uint32) error {
	o, err := h.at(idx, off, 4)
	if err != nil {
		return err
	}
	return h.p.StoreUint32(o, v)
}

func (h hostPages) CompareAndSwap32(idx int, off uint32, old, v uint32) (bool, error) {
	o, err := h.at(idx, off, 4)
	if err != nil {
		return false, err
	}
	return h.p.CompareAndSwapUint32(o, old, v)
}

func (h hostPages) Map(idx int, gfn uint64) error { return h.mem.MapPage(h.p, idx, gfn) }
func (h hostPages) Unmap(idx int) error           { return h.mem.UnmapPage(h.p, idx) }
func (h hostPages) GFN(idx int) (uint64, bool)    { return h.mem.PageGFN(h.p, idx) }
