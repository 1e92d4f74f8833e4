// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"time"

	"xenvmm/gpc/srcu"
)

// linePad keeps a lock off the cache lines of what is allocated beside it, and
// off the pairs of lines that processors fetch together.
type linePad [128]byte

// lockGuard is the part of a guard that has one lock for all caches of a Set.
// Sections hold it; an invalidation takes it for an instant after it has
// withdrawn the mappings, which waits for exactly the readers that may use one.
type lockGuard struct {
	section sectionLock
	writer  tryLocker // what an invalidation takes
}

func (g lockGuard) newReader() (*srcu.Slot, sectionLock, func()) {
	return nil, g.section, func() {}
}

func (g lockGuard) drain(_ index, mayBlock bool) (st srcu.Stats, done bool) {
	v := passage{mayBlock: mayBlock, fast: true}
	done = v.through(g.writer)
	return srcu.Stats{Fast: v.fast}, done
}

type tryLocker interface {
	TryLock() bool
	Lock()
	Unlock()
}

// A passage goes through locks, one after another.
type passage struct {
	mayBlock bool
	fast     bool      // no lock was held
	start    time.Time // of spinning, if it has begun
}

// through takes l and gives it back: whoever held it has left. It reports false
// if that took longer than a caller that must not block may wait in all.
func (p *passage) through(l tryLocker) bool {
	if !l.TryLock() {
		p.fast = false
		if p.mayBlock {
			l.Lock()
		} else {
			if p.start.IsZero() {
				p.start = time.Now()
			}
			for !l.TryLock() {
				if time.Since(p.start) > spinLimit {
					return false
				}
			}
		}
	}
	l.Unlock()
	return true
}
