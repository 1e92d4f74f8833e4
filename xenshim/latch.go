// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"sync"
	"sync/atomic"

	"xenvmm/gpc"
)

// A latch remembers that something could not be done because guest memory was
// away; again does it, or has it done. What again brings about must come after
// the attempt that set the latch, however early again is called: it takes the
// lock of that attempt, or leaves a kick for the goroutine that makes it. Event
// channels have latches of their own (package evtchn).
type latch struct {
	all   *latches
	owed  atomic.Bool
	again func()
}

// set notes that something may be left to do. It is called before the refresh
// whose failure leaves it undone: memory that returns after such a failure
// returns after set, and so does the restore hook that tells of it.
func (l *latch) set() {
	l.owed.Store(true)
	l.all.owed.Store(true)
}

// clear notes that nothing is left to do after all. The lock of the attempt is held,
// so no other attempt can have left anything meanwhile.
func (l *latch) clear() { l.owed.Store(false) }

// latches are a domain's. Its goroutine does again what is owed when memory may
// have returned, so that whoever changes memory never waits for that.
type latches struct {
	owed   atomic.Bool // one of list is
	list   []*latch    // complete before start
	kicked chan struct{}
	quit   chan struct{}
	done   sync.WaitGroup
}

func (ls *latches) add(again func()) *latch {
	l := &latch{all: ls, again: again}
	ls.list = append(ls.list, l)
	return l
}

func (ls *latches) start(caches *gpc.Set) {
	ls.kicked = make(chan struct{}, 1)
	ls.quit = make(chan struct{})
	ls.done.Go(ls.run)
	caches.OnRestore(ls.restored)
}

// restored is the restore hook. It never blocks, and does no harm after stop.
func (ls *latches) restored() {
	if !ls.owed.Load() {
		return
	}
	select {
	case ls.kicked <- struct{}{}:
	default: // a run that has not begun is waiting already
	}
}

func (ls *latches) run() {
	for {
		select {
		case <-ls.quit:
			return
		case <-ls.kicked:
		}
		ls.owed.Store(false)
		for _, l := range ls.list {
			if l.owed.Swap(false) {
				l.again()
			}
		}
	}
}

// stop ends the goroutine. Nothing is done again from then on.
func (ls *latches) stop() {
	if ls.quit != nil {
		close(ls.quit)
		ls.done.Wait()
		ls.quit = nil
	}
}
