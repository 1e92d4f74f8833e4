// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// transactions are the invalidations in progress. Each has a slot with its
// range, so that a refresh waits only for those that concern its own page, and
// of these only for those that were in progress when it looked: a stream of
// overlapping transactions elsewhere, without a moment of quiet, delays nobody.
// Beginning and ending one takes no lock; the mutex is for those that wait.
type transactions struct {
	count   atomic.Int64
	first   txnChunk
	waiters atomic.Int32

	mu    sync.Mutex
	ended chan struct{} // closed at the next end; nil if nobody waits
}

// The phase of a slot is its state modulo 4; the rest counts its uses, so that
// a state never comes back.
const (
	txnFree    = 0
	txnFilling = 1 // owned, range not yet written
	txnActive  = 2
	txnPhase   = 3
)

type txnSlot struct {
	state  atomic.Uint64
	gpa, n atomic.Uint64
	_      [40]byte // a cache line each
}

// A txnChunk is part of a list that only grows; more than one is needed only if
// that many transactions were in progress at once.
type txnChunk struct {
	slots [16]txnSlot
	next  atomic.Pointer[txnChunk]
}

// after returns the next chunk, and makes it if there is none.
func (c *txnChunk) after() *txnChunk {
	if c.next.Load() == nil {
		c.next.CompareAndSwap(nil, new(txnChunk))
	}
	return c.next.Load()
}

// begin opens a transaction. It is visible to refreshes before begin returns.
func (t *transactions) begin(gpa, n uint64) {
	t.count.Add(1)
	for c := &t.first; ; c = c.after() {
		for i := range c.slots {
			s := &c.slots[i]
			state := s.state.Load()
			if state&txnPhase != txnFree || !s.state.CompareAndSwap(state, state+txnFilling) {
				continue
			}
			s.gpa.Store(gpa)
			s.n.Store(n)
			s.state.Store(state + txnActive)
			return
		}
	}
}

// end closes one transaction with that range and reports whether none is left.
func (t *transactions) end(gpa, n uint64) (idle bool) {
	// Several may have the same range, and concurrent ends may take each other's
	// slots; a second look then finds what the first has missed.
	for range 3 {
		for c := &t.first; c != nil; c = c.next.Load() {
			for i := range c.slots {
				s := &c.slots[i]
				state := s.state.Load()
				if state&txnPhase == txnActive && s.gpa.Load() == gpa && s.n.Load() == n &&
					s.state.CompareAndSwap(state, state+2) {
					idle = t.count.Add(-1) == 0
					t.wake()
					return idle
				}
			}
		}
	}
	panic(fmt.Sprintf("gpc: the invalidation of [%#x, +%#x) was ended but had not been started", gpa, n))
}

// wake wakes those that wait. A slot was changed before waiters is loaded, and a
// waiter counts itself before it looks at the slot: one sees the other.
func (t *transactions) wake() {
	if t.waiters.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended != nil {
		close(t.ended)
		t.ended = nil
	}
}

// covers reports whether the transaction of s, in this state, may concern p.
func (s *txnSlot) covers(state uint64, p place) bool {
	switch state & txnPhase {
	case txnFree:
		return false
	case txnFilling:
		return true
	}
	gpa, n := s.gpa.Load(), s.n.Load()
	return n != 0 && gpa <= p.gpa+(p.n-1) && (p.gpa <= gpa || p.gpa-gpa < n)
}

// cover reports whether a transaction in progress concerns p.
func (t *transactions) cover(p place) bool {
	if t.count.Load() == 0 {
		return false
	}
	for c := &t.first; c != nil; c = c.next.Load() {
		for i := range c.slots {
			if s := &c.slots[i]; s.covers(s.state.Load(), p) {
				return true
			}
		}
	}
	return false
}

// await blocks until each transaction that is in progress now and concerns p has
// ended, but not for longer than limit.
func (t *transactions) await(p place, limit time.Duration) {
	if !t.cover(p) {
		return
	}
	t.waiters.Add(1)
	defer t.waiters.Add(-1)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for c := &t.first; c != nil; c = c.next.Load() {
		for i := range c.slots {
			if !t.awaitSlot(&c.slots[i], p, timer) {
				return
			}
		}
	}
}

// awaitSlot returns false if the timer expires.
func (t *transactions) awaitSlot(s *txnSlot, p place, timer *time.Timer) bool {
	state := s.state.Load()
	for state&txnPhase == txnFilling { // for some instructions
		runtime.Gosched()
		state = s.state.Load()
	}
	for s.covers(state, p) {
		t.mu.Lock()
		if t.ended == nil {
			t.ended = make(chan struct{})
		}
		ended := t.ended
		t.mu.Unlock()
		if s.state.Load() != state {
			return true
		}
		select {
		case <-ended:
		case <-timer.C:
			return false
		}
		if s.state.Load() != state {
			return true
		}
	}
	return true
}
