// SPDX-License-Identifier: Apache-2.0

package srcu

import "time"

// watch reports a section that has held a grace period up for too long, once
// per section however many updaters wait for it.
func (d *Domain) watch(s *section, waited time.Duration) {
	if waited < d.overdue || s.ended() {
		return
	}
	reported := &s.place.chunk.reported[s.place.index]
	if last := reported.Load(); last == s.seq || !reported.CompareAndSwap(last, s.seq) {
		return
	}
	owner := "unknown"
	if o := s.place.chunk.owners[s.place.index].Load(); o != nil {
		owner = *o
	}
	d.log.Warn("srcu grace period is held up by a section that does not end; look for a missing Exit or a reader blocked inside",
		"owner", owner, "section", s.seq, "waited", waited)
}
