// SPDX-License-Identifier: Apache-2.0

package gnttab

import (
	"errors"
	"fmt"
	"sync"

	"xenvmm/xenshim/abi"
)

// Errors of the use of a mapping.
var (
	ErrUnmapped = errors.New("gnttab: mapping was given back")
	ErrReadonly = errors.New("gnttab: mapping is read-only")
	ErrRange    = errors.New("gnttab: access outside the granted page")
)

// Mapping is a backend's use of one granted page. It may be used by several
// goroutines.
type Mapping struct {
	t     *Table
	a     *active
	write bool

	mu   sync.RWMutex // held for reading during an access, so that Unmap waits
	gone bool         // guarded by mu
}

// Map pins an entry granted to the backend domain. Statuses:
// GNTST_bad_gntref beyond the table, GNTST_general_error if the entry doesn't
// permit the access, GNTST_bad_page if its frame is no guest RAM.
func (t *Table) Map(ref uint32, write bool) (*Mapping, abi.GrantStatus) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, s := t.pin(ref, write)
	if s != abi.GNTSTOkay {
		return nil, s
	}
	return &Mapping{t: t, a: a, write: write}, abi.GNTSTOkay
}

// Mapped is the number of mappings in use.
func (t *Table) Mapped() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live
}

// GFN is the frame that was pinned.
func (m *Mapping) GFN() uint64 { return uint64(m.a.frame) }

// ReadAt copies from the granted page.
func (m *Mapping) ReadAt(p []byte, off uint32) error {
	return m.access(len(p), off, false, func(gpa uint64) error { return m.t.cfg.RAM.ReadAt(p, gpa) })
}

// WriteAt copies to the granted page; ErrReadonly if it was mapped to be read.
func (m *Mapping) WriteAt(p []byte, off uint32) error {
	return m.access(len(p), off, true, func(gpa uint64) error { return m.t.cfg.RAM.WriteAt(p, gpa) })
}

func (m *Mapping) access(n int, off uint32, write bool, f func(gpa uint64) error) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	switch {
	case m.gone:
		return ErrUnmapped
	case write && !m.write:
		return ErrReadonly
	case n > abi.PageSize || off > uint32(abi.PageSize-n):
		return fmt.Errorf("%w: %d bytes at %#x", ErrRange, n, off)
	}
	return f(uint64(m.a.frame)<<abi.PageShift + uint64(off))
}

// Unmap gives the page back: GNTST_bad_handle the second time. It waits for
// accesses in progress.
func (m *Mapping) Unmap() abi.GrantStatus {
	m.mu.Lock()
	gone := m.gone
	m.gone = true
	m.mu.Unlock()
	if gone {
		return abi.GNTSTBadHandle
	}
	m.t.mu.Lock()
	defer m.t.mu.Unlock()
	m.t.unpin(m.a, m.write)
	return abi.GNTSTOkay
}

// CopyFrom copies from a granted page into p, off bytes into the page: map,
// copy and unmap in one. GNTST_bad_copy_arg if it would leave the page.
func (t *Table) CopyFrom(ref uint32, p []byte, off uint32) abi.GrantStatus {
	return t.copyWith(ref, len(p), off, false, func(m *Mapping) error { return m.ReadAt(p, off) })
}

// CopyTo copies p to a granted page; otherwise as CopyFrom.
func (t *Table) CopyTo(ref uint32, p []byte, off uint32) abi.GrantStatus {
	return t.copyWith(ref, len(p), off, true, func(m *Mapping) error { return m.WriteAt(p, off) })
}

func (t *Table) copyWith(ref uint32, n int, off uint32, write bool, f func(*Mapping) error) abi.GrantStatus {
	if n > abi.PageSize || off > uint32(abi.PageSize-n) {
		return abi.GNTSTBadCopyArg
	}
	m, s := t.Map(ref, write)
	if s != abi.GNTSTOkay {
		return s
	}
	defer m.Unmap()
	if f(m) != nil {
		return abi.GNTSTBadPage
	}
	return abi.GNTSTOkay
}
