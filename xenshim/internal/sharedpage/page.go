// SPDX-License-Identifier: Apache-2.0

// Package sharedpage is a page for tests of ring backends: it behaves like
// memory shared with a guest. Both sides use it through atomic accesses, so
// that tests in which a hostile guest writes while the backend reads are free
// of data races in the sense of Go, yet tear as real memory does. All methods
// may be called from any goroutine.
package sharedpage

import (
	"errors"
	"fmt"
	"sync/atomic"

	"xenvmm/xenshim/abi"
)

// ErrGone is returned by all methods after Unmap.
var ErrGone = errors.New("sharedpage: unmapped")

// Page is 4 KiB. The zero value is ready for use.
type Page struct {
	words [abi.PageSize / 4]atomic.Uint32
	gone  atomic.Bool
}

// Unmap makes every later access fail.
func (p *Page) Unmap() { p.gone.Store(true) }

func (p *Page) check(off uint32, n int) error {
	if p.gone.Load() {
		return ErrGone
	}
	if uint64(off)+uint64(n) > abi.PageSize {
		return fmt.Errorf("sharedpage: %d bytes at %#x leave the page", n, off)
	}
	return nil
}

// ReadAt copies bytes out, one atomic access each.
func (p *Page) ReadAt(b []byte, off uint32) error {
	if err := p.check(off, len(b)); err != nil {
		return err
	}
	for i := range b {
		at := off + uint32(i)
		b[i] = byte(p.words[at/4].Load() >> (at % 4 * 8))
	}
	return nil
}

// WriteAt copies bytes in, one atomic access each.
func (p *Page) WriteAt(b []byte, off uint32) error {
	if err := p.check(off, len(b)); err != nil {
		return err
	}
	for i, v := range b {
		at := off + uint32(i)
		w, shift := &p.words[at/4], at%4*8
		for {
			old := w.Load()
			if w.CompareAndSwap(old, old&^(0xff<<shift)|uint32(v)<<shift) {
				break
			}
		}
	}
	return nil
}

// Load32 reads an aligned word.
func (p *Page) Load32(off uint32) (uint32, error) {
	if err := p.aligned(off); err != nil {
		return 0, err
	}
	return p.words[off/4].Load(), nil
}

// Store32 writes an aligned word.
func (p *Page) Store32(off, v uint32) error {
	if err := p.aligned(off); err != nil {
		return err
	}
	p.words[off/4].Store(v)
	return nil
}

// CompareAndSwap32 replaces an aligned word if it is old.
func (p *Page) CompareAndSwap32(off, old, new uint32) (bool, error) {
	if err := p.aligned(off); err != nil {
		return false, err
	}
	return p.words[off/4].CompareAndSwap(old, new), nil
}

func (p *Page) aligned(off uint32) error {
	if off%4 != 0 {
		return fmt.Errorf("sharedpage: word at %#x is not aligned", off)
	}
	return p.check(off, 4)
}
