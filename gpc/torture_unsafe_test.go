// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The torture runs in a child process, because what it is there to provoke
// kills it: pages are poisoned and made inaccessible as soon as the contract
// allows it, so a stale access faults or leaves its mark on the poison.
const (
	tortureEnv = "GPC_TORTURE" // the guard to torture; set in the child only
	poison     = 0x5a5a5a5a
)

// pagePool hands pages out in turn, so that a stale access has some time to hit
// a page before it is used again.
type pagePool struct {
	free []*hostPage
	uses int
}

// retire poisons a page that nobody may use any more.
func (pool *pagePool) retire(p *hostPage) {
	for off := uint32(0); off < pageSize; off += 64 {
		p.word(off).Store(poison)
		p.word(off + 4).Store(poison)
		p.word(off + 8).Store(poison)
	}
	if pool.uses++; pool.uses%4 == 0 {
		p.forbid()
	}
	pool.free = append(pool.free, p)
}

// take returns a zeroed page; the poison must still be there.
func (pool *pagePool) take() *hostPage {
	p := pool.free[0]
	pool.free = pool.free[1:]
	p.allow()
	for off := uint32(0); off < pageSize; off += 64 {
		for o := off; o < off+12; o += 4 {
			if v := p.word(o).Load(); v != poison {
				fmt.Printf("STALE ACCESS: word %#x of a retired page is %#x\n", o, v)
				os.Exit(3)
			}
			p.word(o).Store(0)
		}
	}
	return p
}

func newPagePool(n int) *pagePool {
	pool := new(pagePool)
	for range n {
		p := newHostPage()
		pool.retire(p)
	}
	return pool
}

// change is what memory does: invalidate, take the old page away, map another.
func (m *guestMemory) change(s *Set, pool *pagePool, gfn uint64, mayBlock bool) {
	if err := s.InvalidateStart(gfn*pageSize, pageSize, mayBlock); err != nil {
		return
	}
	old := m.page(gfn)
	if pool.uses%7 == 0 {
		runtime.Gosched() // leave a refresh time to go wrong
	}
	pool.retire(old)
	m.put(gfn, pool.take())
	s.InvalidateEnd(gfn*pageSize, pageSize)
}

func TestTortureChild(t *testing.T) {
	guard := os.Getenv(tortureEnv)
	if guard == "" {
		t.Skip("runs in a child process of TestTorture and TestMutantsAreCaught")
	}
	runtime.GOMAXPROCS(runtime.NumCPU() + 2)
	tortureDuel(t, guard)
	tortureMove(t, guard)
	tortureCrowd(t, guard)
}

// tortureDuel is one reader against one updater, both as fast as they can: it
// finds windows of a few instructions.
func tortureDuel(t *testing.T, guard string) {
	m := newGuestMemory(t, 1)
	s, _ := newTestSet(t, m, guard)
	c := activated(t, s, "c", 1*pageSize, pageSize)
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		r := s.NewReader()
		defer r.Close()
		for !stop.Load() {
			r.Xchg32(c, 0, 1) // the updater refreshes, to wait for nobody
		}
	})
	var pages [4]*hostPage
	for i := range pages {
		pages[i] = newHostPage()
		pages[i].word(0).Store(poison)
	}
	cycles := 0
	for start := time.Now(); time.Since(start) < time.Second; cycles++ {
		must(s.InvalidateStart(1*pageSize, pageSize, true))
		next := pages[cycles%len(pages)]
		old := m.put(1, next)
		pages[cycles%len(pages)] = old
		old.word(0).Store(poison)
		if v := next.word(0).Load(); v != poison {
			fmt.Printf("STALE ACCESS: a retired page has %#x\n", v)
			os.Exit(3)
		}
		next.word(0).Store(0)
		s.InvalidateEnd(1*pageSize, pageSize)
		must(c.Refresh())
	}
	stop.Store(true)
	wg.Wait()
	fmt.Printf("duel: %d cycles, %+v\n", cycles, s.Stats())
}

// tortureMove is a reader, a cache that moves between two frames, and an updater
// of one of these.
func tortureMove(t *testing.T, guard string) {
	m := newGuestMemory(t, 1, 2)
	s, _ := newTestSet(t, m, guard)
	c := activated(t, s, "c", 1*pageSize, pageSize)
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		r := s.NewReader()
		defer r.Close()
		for !stop.Load() {
			r.Or32(c, 0, 1)
		}
	})
	moves := 0
	wg.Go(func() {
		for ; !stop.Load(); moves++ {
			_ = c.Activate(uint64(1+moves%2)*pageSize, pageSize)
		}
	})
	pool := newPagePool(8)
	cycles := 0
	for start := time.Now(); time.Since(start) < time.Second; cycles++ {
		m.change(s, pool, 1, true)
	}
	stop.Store(true)
	wg.Wait()
	fmt.Printf("move: %d cycles, %d moves, %+v\n", cycles, moves, s.Stats())
}

// tortureCrowd is several readers against changes of memory and a cache that
// comes and goes, with pages that cannot be accessed once they are retired.
func tortureCrowd(t *testing.T, guard string) {
	m := newGuestMemory(t, 1, 2, 3, 4)
	s, _ := newTestSet(t, m, guard)
	shared := activated(t, s, "shared_info", 1*pageSize, pageSize)
	vcpu := activated(t, s, "vcpu_info", 2*pageSize, 64)
	juggled := s.NewCache("juggled")
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() { tortureReader(s, shared, vcpu, juggled, uint32(i), &stop) })
	}
	var cycles [2]int
	wg.Go(func() { // pages of active caches change under transactions
		pool := newPagePool(16)
		for n := 0; !stop.Load(); n++ {
			m.change(s, pool, uint64(1+n%3), n%5 != 0)
			cycles[0]++
		}
	})
	wg.Go(func() { // a cache comes and goes; the page it left is changed without one
		pool := newPagePool(16)
		for n := 0; !stop.Load(); n++ {
			if n%3 == 0 { // frame 3 changes under transactions: the list matters
				_ = juggled.Activate(3*pageSize, 64)
				runtime.Gosched()
			}
			_ = juggled.Activate(4*pageSize, 64)
			if n%2 == 0 {
				runtime.Gosched()
			}
			juggled.Deactivate()
			next := pool.take()
			pool.retire(m.put(4, next))
			cycles[1]++
		}
	})
	wg.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for start := time.Now(); time.Since(start) < 1500*time.Millisecond; <-tick.C {
			runtime.GC()
		}
		stop.Store(true)
	})
	wg.Wait()
	if cycles[0] == 0 || cycles[1] == 0 {
		t.Fatalf("no progress: %v", cycles)
	}
	fmt.Printf("SURVIVED %v cycles, %+v\n", cycles, s.Stats())
}

// tortureReader uses words where the poison has 0 bits, so that any update of a
// poisoned word shows.
func tortureReader(s *Set, shared, vcpu, juggled *Cache, id uint32, stop *atomic.Bool) {
	r := s.NewReader()
	defer r.Close()
	var sigs []*Signal
	for i := range uint32(8) {
		off := (i*3 + id) % 40 * 64
		sigs = append(sigs, &Signal{shared, Bit{off, 0}, Bit{off + 4, 0}, vcpu, Bit{8, uint8(i%2) * 2}, 4})
	}
	buf := make([]byte, 8)
	for n := uint32(0); !stop.Load(); n++ {
		sig := sigs[n%8]
		switch r.Deliver(sig) {
		case Stale:
			_ = shared.Refresh()
		case StaleVCPU:
			_ = vcpu.Refresh()
			r.Raise(sig)
		case Raised:
			r.Xchg8(vcpu, sig.Upcall, 0)
			r.And32(vcpu, sig.Sel.Off, 0)
		}
		r.And32(shared, sig.Pending.Off, 0)
		if n%3 == 0 {
			r.Or32(shared, sig.Mask.Off, 1)
			r.Unmask(sig)
		}
		if n%5 == 0 {
			r.WriteAt(shared, buf, sig.Pending.Off)
			r.ReadAt(vcpu, buf, 0)
		}
		for k := range uint32(4) {
			if _, ok := r.Or32(juggled, k%2*4, 1); !ok {
				_ = juggled.Refresh()
			}
		}
		if n%256 == 0 {
			runtime.Gosched()
		}
	}
}
