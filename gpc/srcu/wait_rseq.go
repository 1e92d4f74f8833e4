// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"sync/atomic"
	"time"
)

// rseqWait relies on the kernel to restart the sections of thread readers. Those
// that were seen to have lost their processor it restarts anyway; for the rest one
// fence does, however many they are, whether they run or not. Other sections are
// waited for as by futexWait.
type rseqWait struct {
	restart func() error // rseq.Fence
}

func (rseqWait) name() Wait { return WaitRseq }

func (w rseqWait) fence(d *Domain, p *pending) bool {
	// To look for as long as a fence takes is at worst twice as long as it need be,
	// and where fences are dear it mostly saves one.
	if p.restartable() && len(p.witnesses) > 1 {
		p.spin(time.Now(), d.fences.typical())
	}
	if !p.restartable() {
		return false
	}
	start := time.Now()
	err := w.restart()
	d.fences.note(time.Since(start))
	if err != nil {
		d.unfenced.Do(func() {
			d.log.Warn("srcu cannot make the kernel restart sections any more, and waits for them instead; permit membarrier(2) in seccomp filters", "error", err)
		})
		return false
	}
	p.fenced()
	return true
}

func (w rseqWait) await(d *Domain, p *pending) (aborted bool) {
	if aborted = w.fence(d, p); !aborted && p.restartable() {
		// Restartable sections end without waking anybody.
		return sleepWait{}.await(d, p)
	}
	futexWait{}.await(d, p)
	return aborted
}

// fenceCost is a moving average of what a fence takes, which is anything from two
// to a hundred microseconds, depending on the machine and what runs on it.
type fenceCost struct{ ns atomic.Int64 }

const (
	firstFence = 10 * time.Microsecond // until there was one
	dearFence  = 50 * time.Microsecond // as long as it counts
)

func (c *fenceCost) typical() time.Duration {
	if ns := c.ns.Load(); ns != 0 {
		return time.Duration(ns)
	}
	return firstFence
}

// note may lose one of two notes at once.
func (c *fenceCost) note(took time.Duration) {
	c.ns.Store(int64(c.typical()*7+min(took, dearFence)) / 8)
}
