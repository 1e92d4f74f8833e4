// SPDX-License-Identifier: Apache-2.0

package srcu

import "time"

// Stats tells how a grace period went.
type Stats struct {
	Fast    bool          // no reader was inside at the first look
	Seen    bool          // sections were seen to have lost their processor
	Aborted bool          // the kernel was asked to restart sections (rseq.Fence)
	Spun    time.Duration // time spent spinning
	Waited  time.Duration // time spent after that: in the fence and asleep
}

// TrySynchronize looks at every reader once and reports whether none is inside
// a section. If so, whatever the caller withdrew (with an atomic store) before
// the call is unused. It never waits.
func (d *Domain) TrySynchronize() bool {
	for c := d.head; c != nil; c = c.next.Load() {
		slots := c.slots[:c.used.Load()]
		for i := range slots {
			if slots[i].seq.Load()&1 != 0 {
				return false
			}
		}
	}
	return true
}

// Synchronize returns when every section that was running at the call has
// ended. Sections entered later do not delay it. It allocates nothing, and any
// number of goroutines may be in it at once.
func (d *Domain) Synchronize() Stats {
	if d.TrySynchronize() {
		return Stats{Fast: true}
	}
	return d.synchronizeSlow()
}

func (d *Domain) synchronizeSlow() (st Stats) {
	p := d.pendings.Get().(*pending)
	defer d.pendings.Put(p)
	p.snapshot(d)
	p.look(d)
	start := time.Now()
	done := p.spin(start, d.spin)
	st.Spun = time.Since(start)
	if !done {
		st.Aborted = d.policy.await(d, p)
		st.Waited = time.Since(start) - st.Spun
	}
	st.Seen = p.seen
	return st
}

// SpinSynchronize is Synchronize for callers that must not sleep: it spins for
// at most limit and reports whether the grace period ended. If restartable
// sections are in the way it makes the kernel restart them instead of spinning
// to the limit; that takes some tens of microseconds, like the spinning, and does
// not sleep either. After false nothing may be assumed about what readers hold.
func (d *Domain) SpinSynchronize(limit time.Duration) (st Stats, done bool) {
	if d.TrySynchronize() {
		return Stats{Fast: true}, true
	}
	p := d.pendings.Get().(*pending)
	defer d.pendings.Put(p)
	p.snapshot(d)
	p.look(d)
	start := time.Now()
	if done = p.spin(start, min(limit, d.spin)); !done {
		st.Aborted = d.policy.fence(d, p)
		done = p.spin(start, limit)
	}
	st.Spun, st.Seen = time.Since(start), p.seen
	return st, done
}
