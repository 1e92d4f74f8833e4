// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"log/slog"
	"sync"
	"time"
)

const (
	defaultSpin     = 2 * time.Microsecond
	defaultBackstop = 20 * time.Millisecond
	defaultOverdue  = 5 * time.Second
)

// Options of a Domain. The zero value is the default.
type Options struct {
	// Log receives warnings about sections that do not end and handles that
	// were dropped without Close. Nil discards them.
	Log *slog.Logger
	// SpinNs is how long a grace period spins before it sleeps, in nanoseconds.
	// 0 means 2000; a negative value means not at all.
	SpinNs int
	// Wait limits how a grace period may wait for a section that does not end
	// while it spins: one of the Wait constants, WaitBest if empty.
	Wait Wait
}

// A Domain is a set of readers and the updaters that wait for them.
type Domain struct {
	log      *slog.Logger
	spin     time.Duration
	backstop time.Duration // a sleeping updater looks again after this; 0: only when woken
	overdue  time.Duration // a section older than this is reported, once
	policy   waitPolicy
	fences   fenceCost
	head     *chunk    // first of a list that only grows at its end
	pendings sync.Pool // *pending
	unfenced sync.Once // the warning that fences fail

	mu   sync.Mutex // registration only
	tail *chunk
	free []place
}

// place names a slot within the chunks.
type place struct {
	chunk *chunk
	index int
}

func (p place) slot() *Slot { return &p.chunk.slots[p.index] }

// New returns a Domain without readers.
func New(o Options) *Domain {
	d := &Domain{
		log:      o.Log,
		spin:     time.Duration(o.SpinNs),
		backstop: defaultBackstop,
		overdue:  defaultOverdue,
		policy:   choosePolicy(o.Wait),
		head:     newChunk(chunkSlots),
	}
	if o.SpinNs == 0 {
		d.spin = defaultSpin
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	d.tail = d.head
	d.pendings.New = func() any { return new(pending) }
	return d
}

// acquire returns a slot without an owner, in a new chunk if need be.
func (d *Domain) acquire(owner string) place {
	d.mu.Lock()
	defer d.mu.Unlock()
	var p place
	if n := len(d.free); n > 0 {
		p, d.free = d.free[n-1], d.free[:n-1]
	} else {
		i := int(d.tail.used.Load())
		if i == chunkSlots {
			c := newChunk(chunkSlots)
			d.tail.next.Store(c)
			d.tail, i = c, 0
		}
		p = place{d.tail, i}
		d.tail.used.Add(1)
	}
	p.chunk.owners[p.index].Store(&owner)
	return p
}

func (d *Domain) release(p place) {
	p.chunk.owners[p.index].Store(nil)
	d.mu.Lock()
	d.free = append(d.free, p)
	d.mu.Unlock()
}
