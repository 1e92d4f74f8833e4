// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
	"sync/atomic"
)

// maxPages bounds one Pages object: more than any Xen structure needs.
const maxPages = 1 << 16

// Pages are host pages outside RAM, zero at first, that can be laid over guest
// frames one by one. The VMM reaches them by offset whether they are mapped
// into the guest or not. They live until Memory.Close.
type Pages struct {
	m    *Memory
	name string
	n    int
	fd   int
	base hva        // the VMM's own mapping, always there
	at   []*overlay // where each page is mapped; under m.mu

	frames []atomic.Uint64 // the same for those without m.mu: the frame plus 1, or 0
}

// NewPages makes n pages. The name is for messages and /proc.
func (m *Memory) NewPages(name string, n int) (*Pages, error) {
	if n < 1 || n > maxPages {
		return nil, fmt.Errorf("pages %q: count %d: %w (1 to %d)", name, n, ErrRange, maxPages)
	}
	p := &Pages{m: m, name: name, n: n, at: make([]*overlay, n), frames: make([]atomic.Uint64, n)}
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.usable()
	if err == nil {
		p.fd, err = newFile(name, p.bytes())
	}
	if err != nil {
		return nil, fmt.Errorf("pages %q: %w", name, err)
	}
	if p.base, err = m.host.mapNew(backing{fd: p.fd}, p.bytes()); err != nil {
		return nil, fmt.Errorf("pages %q: map %s: %w", name, bytes(p.bytes()), closeAfter(p.fd, err))
	}
	m.pages = append(m.pages, p)
	return p, nil
}

// Len is the number of pages.
func (p *Pages) Len() int { return p.n }

// Name is what NewPages was given.
func (p *Pages) Name() string { return p.name }

func (p *Pages) bytes() uint64           { return uint64(p.n) * PageSize }
func (p *Pages) backing(idx int) backing { return backing{p.fd, uint64(idx) * PageSize} }
func (p *Pages) page(idx int) string     { return fmt.Sprintf("page %d of %s", idx, p.name) }

// put notes where page idx is mapped. What the guest sees at the frame that it
// leaves and at the one where it comes changes with that. m.mu is held.
func (p *Pages) put(idx int, o *overlay) {
	if was := p.at[idx]; was != nil {
		p.m.MarkDirty(was.gfn*PageSize, PageSize)
	}
	p.at[idx] = o
	if o == nil {
		p.frames[idx].Store(0)
		return
	}
	p.frames[idx].Store(o.gfn + 1)
	p.m.MarkDirty(o.gfn*PageSize, PageSize)
}

// wrote marks the frames where the guest has [off, off+n), after it was written.
// A page that is being mapped meanwhile is marked by put, if it is not found
// here.
func (p *Pages) wrote(off, n uint64) {
	if n == 0 || p.m.dirty.Load() == nil {
		return
	}
	for i := off / PageSize; i <= (off+n-1)/PageSize; i++ {
		if f := p.frames[i].Load(); f != 0 {
			p.m.MarkDirty((f-1)*PageSize, PageSize)
		}
	}
}

// enter begins a section in which the pages stay mapped. Offsets count bytes
// from the first page; [off, off+n) must lie within the pages, and for words
// off must be a multiple of align.
func (p *Pages) enter(off, n, align uint64) (*lent, error) {
	if off > p.bytes() || n > p.bytes()-off {
		return nil, p.offsetError(off, n, ErrRange)
	}
	if off&(align-1) != 0 {
		return nil, p.offsetError(off, n, ErrUnaligned)
	}
	e, _, err := p.m.enter()
	return e, err
}

//go:noinline
func (p *Pages) offsetError(off, n uint64, err error) error {
	return fmt.Errorf("%s: access of %d bytes at offset %#x of %#x: %w", p.name, n, off, p.bytes(), err)
}

// ReadAt copies len(b) bytes at byte offset off, all of them or none.
func (p *Pages) ReadAt(b []byte, off uint64) error {
	e, err := p.enter(off, uint64(len(b)), 1)
	if err != nil {
		return err
	}
	copy(b, window(p.base, off, uint64(len(b))))
	e.exit()
	return nil
}

// WriteAt copies b to byte offset off, all of it or nothing.
func (p *Pages) WriteAt(b []byte, off uint64) error {
	e, err := p.enter(off, uint64(len(b)), 1)
	if err != nil {
		return err
	}
	copy(window(p.base, off, uint64(len(b))), b)
	e.exit()
	p.wrote(off, uint64(len(b)))
	return nil
}

// LoadUint32 reads the aligned word at off, atomically.
func (p *Pages) LoadUint32(off uint64) (uint32, error) {
	e, err := p.enter(off, 4, 4)
	if err != nil {
		return 0, err
	}
	w := atomic.LoadUint32(word32(p.base, off))
	e.exit()
	return w, nil
}

// StoreUint32 writes the aligned word at off, atomically.
func (p *Pages) StoreUint32(off uint64, w uint32) error {
	e, err := p.enter(off, 4, 4)
	if err != nil {
		return err
	}
	atomic.StoreUint32(word32(p.base, off), w)
	e.exit()
	p.wrote(off, 4)
	return nil
}

// CompareAndSwapUint32 replaces the aligned word at off by w if it is old.
func (p *Pages) CompareAndSwapUint32(off uint64, old, w uint32) (bool, error) {
	e, err := p.enter(off, 4, 4)
	if err != nil {
		return false, err
	}
	ok := atomic.CompareAndSwapUint32(word32(p.base, off), old, w)
	e.exit()
	if ok {
		p.wrote(off, 4)
	}
	return ok, nil
}

// OrUint32 sets bits in the aligned word at off and returns what it was.
func (p *Pages) OrUint32(off uint64, bits uint32) (uint32, error) {
	e, err := p.enter(off, 4, 4)
	if err != nil {
		return 0, err
	}
	old := atomic.OrUint32(word32(p.base, off), bits)
	e.exit()
	p.wrote(off, 4)
	return old, nil
}

// LoadUint64 reads the aligned 64-bit word at off, atomically.
func (p *Pages) LoadUint64(off uint64) (uint64, error) {
	e, err := p.enter(off, 8, 8)
	if err != nil {
		return 0, err
	}
	w := atomic.LoadUint64(word64(p.base, off))
	e.exit()
	return w, nil
}

// StoreUint64 writes the aligned 64-bit word at off, atomically.
func (p *Pages) StoreUint64(off uint64, w uint64) error {
	e, err := p.enter(off, 8, 8)
	if err != nil {
		return err
	}
	atomic.StoreUint64(word64(p.base, off), w)
	e.exit()
	p.wrote(off, 8)
	return nil
}
