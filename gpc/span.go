// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// A Piece is a range of guest physical memory within one page.
type Piece struct{ GPA, N uint64 }

// Split cuts [gpa, gpa+n) where it crosses into another page, for
// Span.Activate. A range that crosses none has an empty second piece.
func Split(gpa, n uint64) (first, second Piece) {
	m := min(n, pageSize-gpa%pageSize)
	return Piece{gpa, m}, Piece{gpa + m, n - m}
}

// A Span is a range of at most a page's length that may cross a page boundary.
// A guest gives such areas by linear address, so the two pages need not be
// neighbours, neither in guest physical memory nor on the host. It is one or two
// Caches that are used as one range: an invalidation of either page makes it
// stale, and Refresh makes it valid. All methods may be called from any
// goroutine; those that take a Reader use it as the Reader's own methods do.
//
// What is atomic: a byte. An access of several bytes is one section for each
// page and no more atomic than any copy, and there are no accesses to words,
// because a word may cross like everything else. A structure that its reader
// must see whole needs a protocol, for which Xchg8 orders the bytes.
type Span struct {
	set   *Set
	name  string
	parts atomic.Pointer[spanParts] // never nil
	mu    sync.Mutex                // one Activate or Deactivate at a time
}

// spanParts is where a span is. It is immutable, and each activation makes
// caches of its own, so that an access never mixes the places of two.
type spanParts struct {
	first, second Piece     // the first is empty if the span is inactive
	caches        [2]*Cache // nil for an empty piece
}

// NewSpan returns an inactive span. The name appears in errors.
func (s *Set) NewSpan(name string) *Span {
	sp := &Span{set: s, name: name}
	sp.parts.Store(new(spanParts))
	return sp
}

// Activate makes the span stand for first and, if that is not empty, second
// behind it, together at most a page. An active span moves: when Activate
// returns, nobody uses the old place any more. If it fails, nothing has changed:
// the error wraps ErrNoMemory if a piece has no memory, or ErrBusy.
func (sp *Span) Activate(first, second Piece) error {
	if first.N == 0 || first.N > pageSize || second.N > pageSize-first.N {
		return fmt.Errorf("gpc: activate %s: %d and %d bytes: use 1 to %d, the first piece not empty", sp.name, first.N, second.N, pageSize)
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	old := sp.parts.Load()
	if old.first == first && old.second == second {
		_ = sp.Refresh() // as Cache.Activate of an active cache
		return nil
	}
	next := &spanParts{first: first, second: second}
	for i, p := range [2]Piece{first, second} {
		if p.N == 0 {
			continue
		}
		c := sp.set.NewCache(sp.name)
		if err := c.Activate(p.GPA, p.N); err != nil {
			next.deactivate()
			return err
		}
		next.caches[i] = c
	}
	sp.parts.Store(next)
	old.deactivate()
	return nil
}

// Deactivate makes the span inactive. When it returns, nobody uses the memory
// through it.
func (sp *Span) Deactivate() {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	old := sp.parts.Load()
	sp.parts.Store(new(spanParts))
	old.deactivate()
}

func (p *spanParts) deactivate() {
	for _, c := range p.caches {
		if c != nil {
			c.Deactivate()
		}
	}
}

// Refresh makes a stale span valid; see Cache.Refresh.
func (sp *Span) Refresh() error {
	for {
		p := sp.parts.Load()
		if !p.active() {
			return ErrInactive
		}
		err := p.refresh()
		if !errors.Is(err, ErrInactive) || sp.parts.Load() == p {
			return err
		} // else it moved meanwhile, and these caches are no longer its own
	}
}

func (p *spanParts) refresh() error {
	for _, c := range p.caches {
		if c != nil {
			if err := c.Refresh(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *spanParts) active() bool { return p.first.N != 0 }

// valid reports whether all of it has a mapping now.
func (p *spanParts) valid() bool {
	for _, c := range p.caches {
		if c != nil && !c.m.Load().valid() {
			return false
		}
	}
	return p.active()
}

// cut returns how many of n bytes at off lie in the first piece. ok is false if
// they do not all lie in the span.
func (p *spanParts) cut(off uint32, n int) (first int, ok bool) {
	if uint64(n) > p.first.N+p.second.N || uint64(off) > p.first.N+p.second.N-uint64(n) {
		return 0, false
	}
	if uint64(off) >= p.first.N {
		return 0, true
	}
	return int(min(uint64(n), p.first.N-uint64(off))), true
}

// ReadAt copies len(b) bytes from offset off. False says that the span is stale
// or inactive, or that they do not lie in it; b may have been filled in part.
func (sp *Span) ReadAt(r *Reader, b []byte, off uint32) bool {
	p := sp.parts.Load()
	n, ok := p.cut(off, len(b))
	ok = ok && p.valid()
	if ok && n > 0 {
		ok = r.ReadAt(p.caches[0], b[:n], off)
	}
	if ok && n < len(b) {
		ok = r.ReadAt(p.caches[1], b[n:], off+uint32(n)-uint32(p.first.N))
	}
	return ok
}

// WriteAt copies b to offset off. False says that the span is stale or inactive,
// or that the bytes do not lie in it. If one page was withdrawn during the call
// the other may have been written: the caller refreshes and writes all again.
func (sp *Span) WriteAt(r *Reader, b []byte, off uint32) bool {
	p := sp.parts.Load()
	n, ok := p.cut(off, len(b))
	ok = ok && p.valid()
	if ok && n > 0 {
		ok = r.WriteAt(p.caches[0], b[:n], off)
	}
	if ok && n < len(b) {
		ok = r.WriteAt(p.caches[1], b[n:], off+uint32(n)-uint32(p.first.N))
	}
	return ok
}

// Xchg8 exchanges the byte at off for v and returns the old value. It is a full
// barrier: what was written before it is seen before it, and what is written
// after it is seen after it. It needs only the page of that byte, so that a
// writer who finds the other one withdrawn can still take back a mark.
func (sp *Span) Xchg8(r *Reader, off uint32, v uint8) (old uint8, ok bool) {
	p := sp.parts.Load()
	n, ok := p.cut(off, 1)
	if !ok {
		return 0, false
	}
	if n == 1 {
		return r.Xchg8(p.caches[0], off, v)
	}
	return r.Xchg8(p.caches[1], off-uint32(p.first.N), v)
}
