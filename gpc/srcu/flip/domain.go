// SPDX-License-Identifier: Apache-2.0

package flip

import (
	"slices"
	"sync"
	"sync/atomic"
)

// counts are how often one reader has entered and left under each index. They
// only grow, and a reader that is closed leaves them to the next one.
type counts struct {
	lock   [2]atomic.Uint64
	unlock [2]atomic.Uint64
	_      [128 - 32]byte // two cache lines: processors fetch pairs
}

// A Domain is a set of readers and the updaters that wait for them. Its methods
// may be called from any goroutine.
type Domain struct {
	_      [128]byte
	index  atomic.Uint64 // its lowest bit is the index that readers enter under
	_      [120]byte
	all    atomic.Pointer[[]*counts] // of every reader there ever was
	driver driver                    // of the grace period in progress

	mu   sync.Mutex // registration
	free []*counts
}

// New returns a Domain without readers.
func New() *Domain {
	d := new(Domain)
	d.all.Store(new([]*counts))
	return d
}

// A Reader is one goroutine's handle. Its sections do not nest.
type Reader struct {
	c     *counts
	index *atomic.Uint64
	in    uint64 // the index the section was entered under
	d     *Domain
	_     [96]byte
}

// NewReader returns a handle.
func (d *Domain) NewReader() *Reader {
	d.mu.Lock()
	defer d.mu.Unlock()
	var c *counts
	if n := len(d.free); n > 0 {
		c, d.free = d.free[n-1], d.free[:n-1]
	} else {
		c = new(counts)
		// Published before the first section: an updater that does not see it has
		// withdrawn its pointer before that.
		all := append(slices.Clone(*d.all.Load()), c)
		d.all.Store(&all)
	}
	return &Reader{c: c, index: &d.index, d: d}
}

// Close gives the handle back, outside its sections.
func (r *Reader) Close() {
	if r.c == nil {
		return
	}
	r.d.mu.Lock()
	r.d.free = append(r.d.free, r.c)
	r.d.mu.Unlock()
	r.c = nil
}

// Enter begins a section. Counting is a locked operation, hence a full barrier:
// the loads of the section come after it.
func (r *Reader) Enter() {
	r.in = r.index.Load() & 1
	r.c.lock[r.in].Add(1)
}

// Exit ends it.
func (r *Reader) Exit() { r.c.unlock[r.in].Add(1) }
