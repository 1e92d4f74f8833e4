// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
)

// A pageQueue hands retired pages out in turn, so that a stale access has some
// time to hit a page before it is used again.
type pageQueue struct {
	g     *rig
	rnd   *rand.Rand
	pages []*rackPage
}

const queueLength = 12

func (g *rig) newPageQueue(rnd *rand.Rand) *pageQueue {
	q := &pageQueue{g: g, rnd: rnd}
	for range queueLength {
		q.retire(g.mem.make())
	}
	return q
}

func (q *pageQueue) retire(p *rackPage) {
	way := 0
	if x := q.rnd.IntN(8); x < len(retireWays) { // the ways that cost a system call are the rarer ones
		way = x
	}
	q.g.mem.retire(p, way)
	q.g.count(tPoisoned + tally(way))
	q.pages = append(q.pages, p)
}

func (q *pageQueue) take() *rackPage {
	if len(q.pages) < queueLength/2 {
		q.retire(q.g.mem.make())
	}
	p := q.pages[0]
	q.pages = q.pages[1:]
	q.g.mem.take(p)
	return p
}

// updater is what memory does: it takes pages away and brings others.
func (g *rig) updater(i int) {
	rnd := g.rand(200 + uint64(i))
	q := g.newPageQueue(rnd)
	for n := 0; !g.still.Load(); n++ {
		gfn := uint64(1 + rnd.IntN(framePlain-1))
		switch x := rnd.IntN(64); {
		case x == 0 || n == 0:
			g.hole(q, gfn)
		case x < 4:
			g.transaction(gfn*pageSize+uint64(rnd.IntN(pageSize)), 1, true, func() {})
		case x < 8 || n == 1:
			g.count(tNested)
			g.transaction(gfn*pageSize, pageSize, true, func() { g.change(q, gfn, true) })
		case x < 12 && gfn+2 <= framePlain:
			g.transaction(gfn*pageSize, 2*pageSize, true, func() {
				g.exchange(q, gfn)
				g.exchange(q, gfn+1)
			})
		default:
			g.change(q, gfn, x >= 20)
		}
		if n%16 == 0 { // readers that find everything stale are no use
			time.Sleep(time.Duration(rnd.IntN(400)) * time.Microsecond)
		}
	}
	for gfn := range uint64(framePlain) {
		if g.mem.frames[gfn].holed() {
			g.change(q, gfn, true)
		}
	}
	for len(q.pages) > queueLength/2 {
		q.take() // a last look
	}
}

// transaction runs do as a change of the range, and reports whether it could.
func (g *rig) transaction(gpa, n uint64, mayBlock bool, do func()) bool {
	err := g.set.InvalidateStart(gpa, n, mayBlock)
	if errors.Is(err, ErrWouldBlock) && !mayBlock {
		g.count(tRefused)
		return false
	}
	must(err)
	do()
	g.set.InvalidateEnd(gpa, n)
	g.count(tCycles)
	return true
}

// change gives a frame another page. All that takes time is done before, so that
// the old page goes as soon as it may.
func (g *rig) change(q *pageQueue, gfn uint64, mayBlock bool) {
	next := q.take()
	if !g.transaction(gfn*pageSize, pageSize, mayBlock, func() {
		if old := g.mem.frames[gfn].exchange(next); old != nil {
			q.retire(old)
		}
	}) {
		q.retire(next) // not needed after all
	}
}

func (g *rig) exchange(q *pageQueue, gfn uint64) {
	if old := g.mem.frames[gfn].exchange(q.take()); old != nil {
		q.retire(old)
	}
}

// hole takes the frame's memory away for a while.
func (g *rig) hole(q *pageQueue, gfn uint64) {
	g.transaction(gfn*pageSize, pageSize, true, func() {
		if old := g.mem.frames[gfn].takeAway(); old != nil {
			q.retire(old)
			g.count(tHoles)
		}
	})
	for range q.rnd.IntN(20) {
		runtime.Gosched()
	}
	g.change(q, gfn, true)
}

func (f *rackFrame) holed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.page == nil
}

// juggler activates, moves and deactivates caches under the readers, and changes
// a page without a transaction whenever no cache stands for it.
func (g *rig) juggler() {
	rnd := g.rand(300)
	q := g.newPageQueue(rnd)
	places := [2]uint64{0, 0x40} // within a frame
	sizes := [2]uint64{pageSize, vcpuSize}
	stamps := [2]uint32{stampInPage, stampInVCPU}
	var at [2]uint64 // 0: inactive
	r := g.set.NewReader()
	defer r.Close()
	for !g.still.Load() {
		i := rnd.IntN(2)
		c := g.juggled[i]
		if gfn := uint64(frameJuggle + rnd.IntN(4)); gfn > framePlain {
			at[i] = 0
			c.Deactivate()
			if _, ok := r.Load32(c, 0); ok {
				staleAccess("an inactive cache is valid")
			}
		} else if c.Activate(gfn*pageSize+places[i], sizes[i]) == nil { // else its memory is away
			at[i] = gfn
			g.count(tMoves)
			if v, ok := r.Load32(c, stamps[i]); ok && v != stamp(gfn) {
				staleAccess("a cache moved to frame %d reads as %#x", gfn, v)
			}
		}
		if at[0] != framePlain && at[1] != framePlain {
			g.exchange(q, framePlain)
			g.count(tCycles)
		} else {
			burn(time.Duration(rnd.IntN(5000)))
		}
	}
}

// timers send to the juggled caches from goroutines that come out of nowhere.
func (g *rig) timers() {
	var wg sync.WaitGroup
	for !g.still.Load() {
		for range 4 {
			wg.Add(1)
			time.AfterFunc(50*time.Microsecond, func() {
				defer wg.Done()
				r := g.set.NewReader()
				defer r.Close()
				if r.Deliver(g.juggledSignal) == StaleVCPU {
					_ = g.juggled[1].Refresh()
					r.Raise(g.juggledSignal)
				}
				g.count(tTimers)
			})
		}
		wg.Wait()
	}
}

// guestMode is a vCPU that uses a frame by itself, without sections.
func (g *rig) guestMode() {
	var running sync.Mutex // held while the vCPU is in guest mode
	c := g.set.NewGuestCache("guest mode", func(mayBlock bool) bool {
		if mayBlock {
			running.Lock()
		} else if !running.TryLock() {
			return false
		}
		running.Unlock()
		g.count(tEvictions)
		return true
	})
	persist(c, func() bool { return c.Activate(frameVCPU*pageSize+guestArea, 64) == nil })
	for n := 0; !g.still.Load(); n++ {
		running.Lock()
		m := c.m.Load()
		for range 100 {
			if m.valid() {
				rawAdd(m.hva)
			}
		}
		running.Unlock()
		if !m.valid() {
			_ = c.Refresh()
		}
		if n%64 == 0 {
			runtime.Gosched()
		}
	}
	c.Deactivate()
}
