// SPDX-License-Identifier: Apache-2.0

package flip

import (
	"runtime"
	"sync/atomic"
	"time"
)

// spinTurn is how long a wait keeps its processor of Go's: a reader that Go has
// preempted in a section needs one to come to its end.
const spinTurn = time.Millisecond

// quiet reports whether there was an instant without a reader under index i.
func (d *Domain) quiet(i uint64) bool {
	all := *d.all.Load()
	var locks, unlocks uint64
	for _, c := range all {
		unlocks += c.unlock[i].Load()
	}
	for _, c := range all {
		locks += c.lock[i].Load()
	}
	return locks == unlocks
}

// await spins until there was such an instant, which it reports, or until limit
// has passed. A limit of 0 is none.
func (d *Domain) await(i uint64, limit time.Duration) bool {
	if d.quiet(i) {
		return true
	}
	for start, turn := time.Now(), time.Now(); !d.quiet(i); {
		if limit > 0 {
			if time.Since(start) > limit {
				return false
			}
		} else if time.Since(turn) > spinTurn {
			runtime.Gosched()
			turn = time.Now()
		}
	}
	return true
}

// A driver is the role of whoever has a grace period in progress. It is waited
// for by spinning.
type driver struct{ held atomic.Bool }

func (r *driver) try() bool { return !r.held.Load() && r.held.CompareAndSwap(false, true) }

func (r *driver) release() { r.held.Store(false) }

// Synchronize returns when every section that was running at the call has ended.
func (d *Domain) Synchronize() {
	for turn := time.Now(); !d.driver.try(); {
		if time.Since(turn) > spinTurn {
			runtime.Gosched()
			turn = time.Now()
		}
	}
	defer d.driver.release()
	d.period(0)
}

// SpinSynchronize is Synchronize with a limit: it gives up after about as much
// and reports whether the grace period ended.
func (d *Domain) SpinSynchronize(limit time.Duration) bool {
	for start := time.Now(); !d.driver.try(); {
		if time.Since(start) > limit {
			return false
		}
	}
	defer d.driver.release()
	return d.period(limit)
}

func (d *Domain) period(limit time.Duration) bool {
	now := d.index.Load() & 1
	if !d.await(now^1, limit) {
		return false
	}
	d.index.Add(1)
	return d.await(now, limit)
}
