// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"xenvmm/gpc"
)

// maxRefreshes bounds how often an access refreshes memory that goes stale
// again.
const maxRefreshes = 16

// cachedPages are pages of the domain's own, reached as the guest has them: a
// page that lies at a guest frame is accessed through a cache of that frame, so
// that every change of memory there withdraws it, and writes are marked dirty.
// A page that the guest has nowhere is no guest memory, and is accessed where
// the host keeps it; the contents are the same.
//
// An access waits for a change of its frame to end. If there is no memory at the
// frame then, it fails with an error that gpc.Away knows, nothing has happened,
// and the latch is set.
type cachedPages struct {
	pages  Pages
	caches []*gpc.Cache
	latch  *latch
	log    *slog.Logger

	mu     sync.Mutex // one at a time uses reader
	reader *gpc.Reader
}

// newCachedPages makes n pages. again is called when memory may be back after an
// access has failed, from the goroutine of the latches.
func (d *Domain) newCachedPages(name string, n int, again func()) (*cachedPages, error) {
	p, err := d.cfg.Pages.NewPages(name, n)
	if err != nil {
		return nil, err
	}
	c := &cachedPages{
		pages: p, caches: make([]*gpc.Cache, n), latch: d.latches.add(again),
		log: d.log, reader: d.cfg.Caches.NewReader(),
	}
	for i := range c.caches {
		c.caches[i] = d.cfg.Caches.NewCache(fmt.Sprintf("%s[%d]", name, i))
	}
	return c, nil
}

// close takes the caches down. Nobody may use the pages any more.
func (c *cachedPages) close() {
	if c == nil {
		return
	}
	for _, k := range c.caches {
		k.Deactivate()
	}
	c.reader.Close()
}

// leave takes page idx out of its frame, and arrive puts it into the one where
// it is now. In between it may be moved, replaced or unmapped, and accesses go
// to the host's own mapping. Callers hold physmap.mu.
func (c *cachedPages) leave(idx int) { c.caches[idx].Deactivate() }

func (c *cachedPages) arrive(idx int) {
	gfn, mapped := c.pages.GFN(idx)
	if !mapped {
		return
	}
	if err := c.caches[idx].Activate(gfn<<pageShift, pageSize); err != nil {
		// Somebody else is changing the frame. The host's own mapping serves.
		c.log.Debug("page of the domain is not cached", "gfn", gfn, "err", err)
	}
}

// access runs f, which uses the cache of page idx and does nothing if that is
// stale, until it has done its work. cached is false if the page has no frame.
func (c *cachedPages) access(idx int, f func(r *gpc.Reader, k *gpc.Cache) bool) (cached bool, err error) {
	k := c.caches[idx]
	for range maxRefreshes {
		c.mu.Lock()
		ok := f(c.reader, k)
		c.mu.Unlock()
		if ok {
			return true, nil
		}
		c.latch.set()
		if err := k.Refresh(); errors.Is(err, gpc.ErrInactive) {
			return false, nil
		} else if err != nil {
			return true, err
		}
	}
	return true, fmt.Errorf("page %d: %w", idx, gpc.ErrBusy)
}

// fits reports whether an access is one that a cache can do; others are left to
// Pages, which says what is wrong with them.
func (c *cachedPages) fits(idx int, off uint32, n int, align uint32) bool {
	return idx >= 0 && idx < len(c.caches) && n <= pageSize && off <= pageSize-uint32(n) && off%align == 0
}

// ReadAt and WriteAt copy bytes of page idx from offset off.
func (c *cachedPages) ReadAt(p []byte, idx int, off uint32) error {
	if c.fits(idx, off, len(p), 1) {
		if cached, err := c.access(idx, func(r *gpc.Reader, k *gpc.Cache) bool { return r.ReadAt(k, p, off) }); cached {
			return err
		}
	}
	return c.pages.ReadAt(p, idx, off)
}

func (c *cachedPages) WriteAt(p []byte, idx int, off uint32) error {
	if c.fits(idx, off, len(p), 1) {
		if cached, err := c.access(idx, func(r *gpc.Reader, k *gpc.Cache) bool { return r.WriteAt(k, p, off) }); cached {
			return err
		}
	}
	return c.pages.WriteAt(p, idx, off)
}

// Load32, Store32 and CompareAndSwap32 are single atomic accesses to an aligned
// word.
func (c *cachedPages) Load32(idx int, off uint32) (v uint32, err error) {
	if c.fits(idx, off, 4, 4) {
		cached, err := c.access(idx, func(r *gpc.Reader, k *gpc.Cache) (ok bool) {
			v, ok = r.Load32(k, off)
			return ok
		})
		if cached {
			return v, err
		}
	}
	return c.pages.Load32(idx, off)
}

func (c *cachedPages) Store32(idx int, off, v uint32) error {
	if c.fits(idx, off, 4, 4) {
		if cached, err := c.access(idx, func(r *gpc.Reader, k *gpc.Cache) bool { return r.Store32(k, off, v) }); cached {
			return err
		}
	}
	return c.pages.Store32(idx, off, v)
}

func (c *cachedPages) CompareAndSwap32(idx int, off, old, v uint32) (bool, error) {
	if c.fits(idx, off, 4, 4) {
		var found uint32
		cached, err := c.access(idx, func(r *gpc.Reader, k *gpc.Cache) (ok bool) {
			found, ok = r.CAS32(k, off, old, v)
			return ok
		})
		if cached {
			return err == nil && found == old, err
		}
	}
	return c.pages.CompareAndSwap32(idx, off, old, v)
}

// GFN is where the guest has page idx.
func (c *cachedPages) GFN(idx int) (gfn uint64, mapped bool) { return c.pages.GFN(idx) }
