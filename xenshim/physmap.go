// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"errors"
	"sync"

	"xenvmm/xenshim/abi"
)

// gfnLimit is the first frame number beyond any physical address.
const gfnLimit = 1 << (52 - pageShift)

// holeChunk is the number of frames one piece of a hole bitmap covers.
const holeChunk = 1 << 15

// overlay names one of the domain's own pages.
type overlay struct {
	pages *cachedPages
	idx   int
}

// ramRange is one range of guest RAM and which of its frames the guest has
// given up: a bitmap in pieces that exist only where a bit was ever set.
type ramRange struct {
	first, count uint64 // frames
	holes        []*[holeChunk / 64]uint64
}

// physmap is what the domain knows of the guest physical map: where RAM is,
// which RAM frames are holes now (ballooned out, or hidden by a page laid over
// them, which on Xen frees the RAM below), and where the domain's own pages
// are. The lock serialises changes; the memory itself stays readable
// everywhere, so a hole shows as zeroes.
type physmap struct {
	mu       sync.Mutex
	ram      []ramRange
	total    uint64 // RAM frames
	gone     uint64 // of which holes
	overlays map[uint64]overlay
}

func newPhysmap(ranges []Range) *physmap {
	p := &physmap{overlays: make(map[uint64]overlay)}
	for _, r := range ranges {
		n := r.Size >> pageShift
		p.ram = append(p.ram, ramRange{
			first: r.GPA >> pageShift, count: n,
			holes: make([]*[holeChunk / 64]uint64, (n+holeChunk-1)/holeChunk),
		})
		p.total += n
	}
	return p
}

// find returns the RAM range that holds gfn.
func (p *physmap) find(gfn uint64) (*ramRange, uint64) {
	for i := range p.ram {
		if r := &p.ram[i]; gfn-r.first < r.count {
			return r, gfn - r.first
		}
	}
	return nil, 0
}

// isHole reports whether gfn is a RAM frame the guest has given up. Callers
// hold mu.
func (p *physmap) isHole(gfn uint64) bool {
	r, i := p.find(gfn)
	if r == nil || r.holes[i/holeChunk] == nil {
		return false
	}
	return r.holes[i/holeChunk][i%holeChunk/64]&(1<<(i%64)) != 0
}

// setHole records whether RAM frame gfn is a hole; it does nothing outside
// RAM. Callers hold mu.
func (p *physmap) setHole(gfn uint64, hole bool) {
	r, i := p.find(gfn)
	if r == nil || p.isHole(gfn) == hole {
		return
	}
	chunk := &r.holes[i/holeChunk]
	if *chunk == nil {
		*chunk = new([holeChunk / 64]uint64)
	}
	(*chunk)[i%holeChunk/64] ^= 1 << (i % 64)
	if hole {
		p.gone++
	} else {
		p.gone--
	}
}

// populated reports whether gfn is RAM the guest holds. Callers hold mu.
func (p *physmap) populated(gfn uint64) bool {
	r, _ := p.find(gfn)
	return r != nil && !p.isHole(gfn)
}

// current and highest are what XENMEM_current_reservation and
// XENMEM_maximum_gpfn report.
func (p *physmap) current() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total - p.gone
}

func (p *physmap) highest() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	top := p.ramTop()
	for gfn := range p.overlays {
		top = max(top, gfn)
	}
	return top
}

// ramTop is the last RAM frame.
func (p *physmap) ramTop() uint64 {
	var top uint64
	for i := range p.ram {
		top = max(top, p.ram[i].first+p.ram[i].count-1)
	}
	return top
}

// place shows a page of the domain at gfn. RAM below becomes a hole, and a
// page of ours that was there is no longer in the map. Callers hold mu.
func (p *physmap) place(o overlay, gfn uint64) abi.Errno {
	if gfn >= gfnLimit {
		return abi.EINVAL
	}
	old, mapped := o.pages.GFN(o.idx)
	// No page is accessed in its old place once that shows something else.
	o.pages.leave(o.idx)
	defer o.pages.arrive(o.idx)
	if there, ok := p.overlays[gfn]; ok && there != o {
		there.pages.leave(there.idx)
		defer there.pages.arrive(there.idx) // if it is not replaced after all
	}
	if err := o.pages.pages.Map(o.idx, gfn); err != nil {
		return mapErrno(err)
	}
	if mapped {
		delete(p.overlays, old)
	}
	p.overlays[gfn] = o
	p.setHole(gfn, true)
	return abi.OK
}

// displace takes the page at gfn out of the map. Callers hold mu.
func (p *physmap) displace(gfn uint64) abi.Errno {
	o, ok := p.overlays[gfn]
	if !ok {
		return abi.ENOENT
	}
	o.pages.leave(o.idx)
	if err := o.pages.pages.Unmap(o.idx); err != nil {
		o.pages.arrive(o.idx)
		return mapErrno(err)
	}
	delete(p.overlays, gfn)
	return abi.OK
}

// reset makes all of RAM the guest's again, after the overlays are gone.
func (p *physmap) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.ram {
		clear(p.ram[i].holes)
	}
	p.gone = 0
}

// mapErrno picks the error for a mapping that failed: the one it carries, or
// ENOMEM, because a slot or memory was missing.
func mapErrno(err error) abi.Errno {
	var e abi.Errno
	if errors.As(err, &e) && e != abi.OK {
		return e
	}
	return abi.ENOMEM
}
