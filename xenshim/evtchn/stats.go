// SPDX-License-Identifier: Apache-2.0

package evtchn

import "sync/atomic"

// counters of one port or channel; incremented without a lock.
type counters struct {
	delivered atomic.Uint64
	coalesced atomic.Uint64
	latched   atomic.Uint64
	slow      atomic.Uint64
}

func (c *counters) load() counts {
	return counts{Delivered: c.delivered.Load(), Coalesced: c.coalesced.Load(), Latched: c.latched.Load(), SlowPath: c.slow.Load()}
}

// counts of events to the guest.
type counts struct {
	Delivered uint64 // made their port pending
	Coalesced uint64 // found it pending
	Latched   uint64 // had to wait for shared_info
	SlowPath  uint64 // found a cache invalid and refreshed it first
}

func (s *counts) add(c *counters) {
	n := c.load()
	s.Delivered += n.Delivered
	s.Coalesced += n.Coalesced
	s.Latched += n.Latched
	s.SlowPath += n.SlowPath
}

// Stats of a Table, over its whole life.
type Stats struct {
	counts
	Ports    int    // open now
	Waiting  bool   // something is latched now
	Replayed uint64 // how often latched things were gone through
}

// Stats adds up what is counted per port.
func (t *Table) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Stats{counts: t.retired, Waiting: t.kept.waiting.Load(), Replayed: t.kept.replays.Load()}
	for i := range t.slots {
		s.add(&t.slots[i].count)
		if t.slots[i].entry.Load() != nil {
			s.Ports++
		}
	}
	for _, h := range t.hosts {
		if h != nil {
			s.add(&h.count)
		}
	}
	return s
}
