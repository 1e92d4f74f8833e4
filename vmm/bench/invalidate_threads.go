// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"xenvmm/gpc"
)

// An updater invalidates one cache over and over. All its fields are its own
// until it has ended.
type updater struct {
	_          [128]byte
	set        *gpc.Set
	cache      *gpc.Cache
	gpa, n     uint64
	pace       time.Duration
	goroutine  bool
	drains     durations
	stopped    durations // those of drains, from noticeable on, in which the thread lost its processor
	overMilli  uint64
	err        error
	before, at usage
	_          [128]byte
}

const (
	// noticeable is the least drain for which it is looked up whether the waiter
	// lost its processor.
	noticeable = 5 * time.Microsecond
	// A goroutine's turn is this many transactions, this far apart: it is seldom
	// scheduled, with more goroutines than processors.
	turn     = 100
	turnPace = 3 * time.Microsecond
)

// run does one transaction at least, however late it comes to run.
func (u *updater) run(stop *atomic.Bool) {
	for i := 1; i == 1 || !stop.Load(); i++ {
		if !u.drain() {
			return
		}
		u.set.InvalidateEnd(u.gpa, u.n)
		_ = u.cache.Refresh() // ErrBusy: somebody else will
		switch {
		case u.pace <= 0:
		case !u.goroutine:
			ts := unix.NsecToTimespec(int64(u.pace))
			_ = unix.Nanosleep(&ts, nil)
		case i%turn == 0:
			runtime.Gosched()
		default:
			for t := time.Now(); time.Since(t) < turnPace; {
			}
		}
	}
}

// drain begins a transaction, which is what is measured.
func (u *updater) drain() bool {
	tid := 0
	if u.goroutine {
		tid = unix.Gettid()
	}
	u.before.take()
	start := time.Now()
	err := u.set.InvalidateStart(u.gpa, u.n, true)
	took := time.Since(start)
	if u.err = err; err != nil {
		return false
	}
	u.drains.add(took)
	if took >= noticeable {
		u.at.take()
		// A goroutine that has moved to another thread was off its processor.
		if disturbed(&u.before, &u.at) || u.goroutine && unix.Gettid() != tid {
			u.stopped.add(took)
		}
		if took > time.Millisecond {
			u.overMilli++
		}
	}
	return true
}

// A drainReader delivers through all shared caches in turn, and blocks on the
// refresh of one that is stale, as the product's readers do.
type drainReader struct {
	_      [128]byte
	r      *gpc.Reader
	sigs   []*gpc.Signal
	guests []consumer
	spins  int // of work between deliveries
	count  uint64
	faults uint64
	sink   uint64
	_      [128]byte
}

func (d *drainReader) run(started func(), stop *atomic.Bool) {
	for i := 0; !stop.Load(); i++ {
		k := i % len(d.sigs)
		d.deliver(k)
		d.guests[k].take()
		d.count++
		if i == 0 {
			started()
		}
		d.sink = spinWork(d.spins, d.sink)
	}
}

func (d *drainReader) deliver(k int) {
	s := d.sigs[k]
	for res := d.r.Deliver(s); ; {
		switch res {
		case gpc.Stale:
			_ = s.Shared.Refresh()
			res = d.r.Deliver(s)
		case gpc.StalePort:
			_ = s.Shared.Refresh()
			res = d.r.Resume(s)
		case gpc.StaleVCPU:
			_ = s.VCPU.Refresh()
			res = d.r.Raise(s)
		case gpc.Raised, gpc.Pending, gpc.Coalesced:
			return
		default: // nothing is masked, and nobody else takes the event
			d.faults++
			return
		}
	}
}

// spinWork is work that touches no memory.
func spinWork(n int, x uint64) uint64 {
	x |= 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
	}
	return x
}

// calibrateSpins finds how much spinWork takes about d; the fastest of several
// tries, since others were held up.
func calibrateSpins(d time.Duration) int {
	const n = 20_000
	best, x := time.Duration(1<<62), uint64(1)
	for range 20 {
		start := time.Now()
		x = spinWork(n, x)
		best = min(best, time.Since(start))
	}
	runtime.KeepAlive(x)
	return max(int(float64(n)*float64(d)/float64(max(best, 1))), 1)
}

// group starts what a repetition consists of, on threads or as goroutines.
type group struct {
	e          *drainRun
	goroutines bool
	next       int // thread
	wg         sync.WaitGroup
}

func (g *group) start(n int, f func(i int)) {
	if g.goroutines {
		for i := range n {
			g.wg.Go(func() { f(i) })
		}
		return
	}
	first := g.next
	g.next += n
	g.e.crew.start(first, n, func(id int) {
		confine(g.e.cpus...)
		f(id - first)
	})
}

func (g *group) wait() {
	g.wg.Wait()
	g.e.crew.wait()
}
