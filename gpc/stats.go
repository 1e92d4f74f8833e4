// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"sync/atomic"

	"xenvmm/gpc/srcu"
)

// Stats are counts since the Set was made. Each is exact; together they are not
// of one instant.
type Stats struct {
	Invalidations   uint64 // transactions opened, whether or not they hit a cache
	FastPath        uint64 // of those that hit: no reader was inside
	SlowPath        uint64 // had to wait for one
	Witnessed       uint64 // of these: a reader was seen to have lost its processor, which was enough
	Fenced          uint64 // of these: the kernel was asked to restart readers' sections
	WouldBlock      uint64 // were refused because the caller would not wait
	Refreshes       uint64 // mappings published
	RefreshFailures uint64
	Drain           Distribution // from withdrawing the mappings to the end of the wait, ns
}

type counters struct {
	invalidations, fastPath, slowPath, wouldBlock atomic.Uint64
	witnessed, fenced                             atomic.Uint64
	refreshes, refreshFailures                    atomic.Uint64
}

// drained counts a wait for readers that has ended.
func (c *counters) drained(st *srcu.Stats) {
	if st.Fast {
		c.fastPath.Add(1)
		return
	}
	c.slowPath.Add(1)
	if st.Seen {
		c.witnessed.Add(1)
	}
	if st.Aborted {
		c.fenced.Add(1)
	}
}

// Stats returns the counts.
func (s *Set) Stats() Stats {
	c := &s.counters
	return Stats{
		Invalidations:   c.invalidations.Load(),
		FastPath:        c.fastPath.Load(),
		SlowPath:        c.slowPath.Load(),
		Witnessed:       c.witnessed.Load(),
		Fenced:          c.fenced.Load(),
		WouldBlock:      c.wouldBlock.Load(),
		Refreshes:       c.refreshes.Load(),
		RefreshFailures: c.refreshFailures.Load(),
		Drain:           s.drains.distribution(),
	}
}
