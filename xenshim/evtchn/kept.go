// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"sync"
	"sync/atomic"

	"xenvmm/gpc"
)

// kept is what could not be done for want of guest memory, one bit for each
// thing and port. A replayer goroutine goes through it whenever something is
// added or memory may have returned.
//
// That nothing is forgotten rests on three orders. Whoever keeps something kicks
// the replayer afterwards, so there is a try later than the keeping. If that try
// fails, memory returns later than the try, and the restore hook runs later
// still. And waiting is true from before a kick until a replay has found nothing
// left, also while the replayer holds a bit in its hands, so that the hook never
// takes the shortcut past it.
type kept struct {
	t *Table

	latched bitmap // events: raise
	owed    bitmap // pending events: resume
	unmasks bitmap
	clears  bitmap // pending bits of closed ports
	marks   bitmap // vCPUs that are to look at all ports

	waiting atomic.Bool
	kicked  chan struct{}
	quit    chan struct{}
	done    sync.WaitGroup
	replays atomic.Uint64

	mu sync.Mutex // one replay at a time; taken before Table.mu
	r  *gpc.Reader
	// Of the replay that is going on: vCPUs found without memory, and whether
	// another one is due.
	away  []bool
	again bool
}

func (k *kept) start(t *Table, caches *gpc.Set) {
	k.t = t
	k.r = caches.NewReader()
	k.away = make([]bool, len(t.vcpus))
	k.kicked = make(chan struct{}, 1)
	k.quit = make(chan struct{})
	k.done.Go(k.run)
	caches.OnRestore(func() {
		if k.waiting.Load() {
			k.kick()
		}
	})
}

func (k *kept) stop() {
	close(k.quit)
	k.done.Wait()
	k.r.Close()
}

func (k *kept) run() {
	for {
		select {
		case <-k.quit:
			return
		case <-k.kicked:
			k.replay()
		}
	}
}

// kick has a replay done soon. It never blocks.
func (k *kept) kick() {
	select {
	case k.kicked <- struct{}{}:
	default: // one that has not begun is waiting already
	}
}

// keep notes bit n in b, one of the bitmaps of k.
func (k *kept) keep(b *bitmap, n uint32) {
	b.set(n)
	k.waiting.Store(true)
	k.kick()
}

// keepMark is keep for marks, for a caller that calls replay itself.
func (k *kept) keepMark(vcpu int) {
	k.marks.set(uint32(vcpu))
	k.waiting.Store(true)
}

// forget drops what is kept for a port that is being closed.
func (k *kept) forget(port uint32) {
	k.latched.take(port)
	k.owed.take(port)
	k.unmasks.take(port)
}

func (k *kept) any() bool {
	return k.latched.any() || k.owed.any() || k.unmasks.any() || k.clears.any() || k.marks.any()
}
