// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"math/bits"
	"sync/atomic"
)

// KVM's dirty log knows what vCPUs write, not what the VMM writes. While
// tracking is on, this package and gpc (through MarkDirty) record the RAM
// frames that they wrote, or where a guest sees something else because a page
// was laid over the frame, taken away, or freed; whoever copies memory takes
// both logs together.

// dirtyMap has a bit per frame of RAM, in the order of the RAM memfd.
type dirtyMap struct{ words []atomic.Uint64 }

// TrackDirty switches the recording of the VMM's own writes on, with an empty
// record, or off.
func (m *Memory) TrackDirty(on bool) {
	if !on {
		m.tracking.Store(false)
		m.dirty.Store(nil)
		return
	}
	m.dirty.Store(&dirtyMap{make([]atomic.Uint64, (m.size/PageSize+63)/64)})
	m.tracking.Store(true)
}

// DirtyTracking tells whether tracking is on (gpc.DirtyTracker).
func (m *Memory) DirtyTracking() *atomic.Bool { return &m.tracking }

// MarkDirty records that the VMM wrote [gpa, gpa+n). Addresses outside RAM are
// ignored: what lies there is to be copied in any case. It neither blocks nor
// allocates, and costs one load while tracking is off.
func (m *Memory) MarkDirty(gpa, n uint64) {
	d := m.dirty.Load()
	if d == nil || n == 0 || gpa+n < gpa {
		return
	}
	for i := range m.ram {
		r := &m.ram[i]
		lo, hi := max(gpa, r.gpa), min(gpa+n, r.gpa+r.size)
		if lo >= hi {
			continue
		}
		for f := (r.off + lo - r.gpa) / PageSize; f <= (r.off+hi-1-r.gpa)/PageSize; f++ {
			d.words[f/64].Or(1 << (f % 64))
		}
	}
}

// TakeDirty calls f with the frame number of each recorded page and forgets it.
// A page written during the call is reported now or by the next call.
func (m *Memory) TakeDirty(f func(gfn uint64)) {
	d := m.dirty.Load()
	if d == nil {
		return
	}
	for i := range d.words {
		for w := d.words[i].Swap(0); w != 0; w &= w - 1 {
			off := (uint64(i)*64 + uint64(bits.TrailingZeros64(w))) * PageSize
			for j := range m.ram {
				if r := &m.ram[j]; off-r.off < r.size {
					f((r.gpa + off - r.off) / PageSize)
				}
			}
		}
	}
}
