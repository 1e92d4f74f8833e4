// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"time"

	"xenvmm/gpc/srcu/rseq"
)

// futexWait sleeps on the waiter word of each slot in turn. One word per slot
// and not one for all: with a shared word every exit of any reader would wake
// the updater, which would then never sleep.
type futexWait struct{}

func (futexWait) name() Wait                   { return WaitFutex }
func (futexWait) attach() *rseq.Area           { return nil }
func (futexWait) fence(*Domain, *pending) bool { return false }

func (futexWait) await(d *Domain, p *pending) (aborted bool) {
	start := time.Now()
	for i := range p.sections {
		s := &p.sections[i]
		for !s.ended() {
			// Announce, then recheck: either the reader's exit sees the word
			// after its own barrier, or the recheck sees the exit. Several
			// updaters may sleep on one word; the exit clears it and wakes all.
			s.slot.waiter.Store(1)
			if s.ended() {
				break
			}
			futexSleep(&s.slot.waiter, 1, d.backstop)
			d.watch(s, time.Since(start))
		}
	}
	return false
}
