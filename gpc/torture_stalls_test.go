// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A victim is a thread with a reader of its own.
type victim struct {
	tid  int
	slot uintptr // address of its slot
	kind readerKind
}

// A threadRegistry is the victims there are.
type threadRegistry struct {
	mu      sync.Mutex
	victims []victim
}

// add registers the calling thread, which is r's, until the result is called.
func (t *threadRegistry) add(r *Reader, kind readerKind) (remove func()) {
	v := victim{unix.Gettid(), slotAddr(r), kind}
	t.mu.Lock()
	t.victims = append(t.victims, v)
	t.mu.Unlock()
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for i := range t.victims {
			if t.victims[i] == v {
				t.victims[i] = t.victims[len(t.victims)-1]
				t.victims = t.victims[:len(t.victims)-1]
				return
			}
		}
	}
}

// each calls f for every victim; they cannot end meanwhile.
func (t *threadRegistry) each(f func(victim)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range t.victims {
		f(v)
	}
}

// has tells whether v is there still, so that its slot has been its own until
// now.
func (t *threadRegistry) has(v victim) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.victims, v)
}

// some returns victims in an order that is different each time. Those of low
// priority would take too long to come to a stop.
func (t *threadRegistry) some(rnd *rand.Rand) (victims []victim) {
	t.each(func(v victim) {
		if !v.kind.low {
			victims = append(victims, v)
		}
	})
	rnd.Shuffle(len(victims), func(i, k int) { victims[i], victims[k] = victims[k], victims[i] })
	return victims
}

// What may not be permitted.
const (
	skipStops    = "stopping single threads"
	skipRealTime = "real-time bursts"
)

// stalls starts everything that holds readers up in the middle of what they do.
func (g *rig) stalls(wg *sync.WaitGroup, procs int) {
	spawn(wg, 1, func(int) { g.signals() })
	spawn(wg, 1, func(int) { g.stops() })
	spawn(wg, 1, func(int) { g.processors(procs) })
	spawn(wg, 1, func(int) { g.realTime() })
	spawn(wg, 1, func(int) { g.busy() })
	spawn(wg, 2, g.faults)
}

// signals sends threads storms of the signals that Go programs get: each
// interrupts a section, or restarts it. Most go to readers with threads of their
// own, some to all threads there are.
func (g *rig) signals() {
	rnd := g.rand(400)
	pid := os.Getpid()
	for !g.calm.Load() {
		sig := []unix.Signal{unix.SIGURG, unix.SIGPROF}[rnd.IntN(2)]
		for range rnd.IntN(200) {
			g.threads.each(func(v victim) {
				if unix.Tgkill(pid, v.tid, sig) == nil {
					g.count(tSignals)
				}
			})
			if rnd.IntN(16) == 0 {
				tasks, err := os.ReadDir("/proc/self/task")
				must(err)
				for _, task := range tasks {
					tid, err := strconv.Atoi(task.Name())
					must(err)
					_ = unix.Tgkill(pid, tid, sig) // it may have ended
				}
			}
			burn(2 * time.Microsecond) // a signal that is pending already is lost
		}
		time.Sleep(time.Duration(rnd.IntN(1000)) * time.Microsecond)
	}
}

// stops has single threads of readers stopped, mostly in the middle of a
// section, while everything else goes on.
func (g *rig) stops() {
	rnd := g.rand(500)
	s, err := newStopper()
	if err != nil {
		g.skip(skipStops, err)
		return
	}
	for n := 0; !g.calm.Load(); n++ {
		victims := g.threads.some(rnd)
		if len(victims) == 0 {
			runtime.Gosched()
			continue
		}
		// Every other one is stopped in a section, for long enough that grace
		// periods have to do something about it; the others wherever they are: a
		// mistake just before a section needs that.
		hold := time.Duration(50+rnd.IntN(1000)) * time.Microsecond
		if n%2 == 0 {
			hold += time.Duration(1+rnd.IntN(4)) * time.Millisecond
		}
		// Grace periods that had begun before the stop may end: one per updater.
		res := s.stop(stopRequest{
			Victims: victims,
			Inside:  n%2 == 0,
			Counter: &g.set.counters.slowPath,
			Slack:   g.run.Updaters,
			Hold:    hold,
		})
		switch {
		case res.err == unix.ESRCH: // it has ended
		case res.err != 0:
			g.skip(skipStops, res.err)
			return
		default:
			g.count(tStops)
			if res.inside {
				g.count(tInside)
			}
			if res.passed {
				g.count(tPassed)
				// A thread that was about to end had given its slot to another reader,
				// which may be of the other kind.
				i := slices.IndexFunc(victims, func(v victim) bool { return v.tid == res.tid })
				if victims[i].kind.plain && g.threads.has(victims[i]) {
					fatal("grace periods have ended while a reader that they have to wait for was stopped in a section")
				}
			}
		}
	}
}

// processors collects garbage and changes GOMAXPROCS, each of which stops the
// world: a section must neither be stopped for it in the middle nor hold it up.
func (g *rig) processors(usual int) {
	rnd := g.rand(600)
	for n := 0; !g.calm.Load(); n++ {
		runtime.GOMAXPROCS([]int{1, 2, 16}[n%3])
		g.count(tProcs)
		time.Sleep(time.Duration(rnd.IntN(5000)) * time.Microsecond)
		runtime.GOMAXPROCS(usual)
		for range 1 + rnd.IntN(10) {
			runtime.GC()
			g.count(tCollections)
			time.Sleep(time.Duration(rnd.IntN(2000)) * time.Microsecond)
		}
	}
}

// realTime takes a processor away from everybody else for a moment, now and
// then.
func (g *rig) realTime() {
	<-background(func() {
		runtime.LockOSThread() // the thread ends with its priority
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
		if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
			g.skip(skipRealTime, err)
			return
		}
		rnd := g.rand(700)
		for !g.calm.Load() {
			burn(time.Duration(rnd.IntN(500)) * time.Microsecond)
			g.count(tFIFO)
			time.Sleep(time.Duration(1+rnd.IntN(10)) * time.Millisecond)
		}
	})
}

// busy runs more threads than there are processors, in bursts, so that readers
// are descheduled where it hurts.
func (g *rig) busy() {
	for !g.calm.Load() {
		var wg sync.WaitGroup
		spawn(&wg, 2*runtime.NumCPU(), func(int) {
			runtime.LockOSThread()
			burn(5 * time.Millisecond)
		})
		wg.Wait()
		g.count(tBusy)
		time.Sleep(10 * time.Millisecond)
	}
}

// faults has readers that fault in the middle of a section, for as long as the
// kernel takes to clear a page, a large one if it can. Unlike the other stalls
// this one does not take the thread off its processor, so it does not restart a
// section by itself: grace periods have to see to it.
func (g *rig) faults(i int) {
	fresh, ask := newFreshMemory()
	defer fresh.unmap()
	if ask != nil {
		g.skip("large page faults", ask)
	}
	read := func(r *Reader) {
		for n := 0; n < 20 && !g.calm.Load(); n++ {
			c, frames := g.data, []uint64{frameData}
			switch n % 4 {
			case 1:
				c, frames = g.shared, []uint64{frameShared}
			case 2, 3:
				c, frames = g.juggled[0], []uint64{frameJuggle, frameJuggle + 1, framePlain}
			}
			if !r.ReadAt(c, fresh.drop(), 0) {
				_ = c.Refresh()
				continue
			}
			g.count(tFaults)
			if v := fresh.word(stampInPage); !slices.ContainsFunc(frames, func(gfn uint64) bool { return v == stamp(gfn) }) {
				staleAccess("a slow copy has %#x", v)
			}
		}
	}
	// The kinds take turns, and so get one another's slots.
	for n := i; !g.calm.Load(); n++ {
		g.onThread(readerKind{plain: n%2 == 0}, read)
	}
}

func burn(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

// lowerPriority makes the calling thread one that waits for all others.
func (g *rig) lowerPriority() {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		g.skip("SCHED_IDLE", err)
		must(unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), 19))
	}
	g.count(tLowered)
}

func usualPriority(v victim) {
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL}
	_ = unix.SchedSetAttr(v.tid, &attr, 0) // without the privilege it stays as it is
}

// churn makes and closes readers all the time: some of any goroutine, some of a
// thread that is made for the purpose, and now and then a crowd that needs more
// slots than there were.
func (g *rig) churn(i int) {
	rnd := g.rand(800 + uint64(i))
	for n := 0; !g.still.Load(); n++ {
		few := func(r *Reader) {
			for range 1 + rnd.IntN(50) {
				g.look(r)
			}
		}
		switch {
		case i == 0:
			g.onThread(readerKind{low: n%4 == 0 && !g.calm.Load(), plain: n%4 == 1}, few)
			g.count(tThreads)
		case n%50 == 0:
			var crowd [40]*Reader
			for k := range crowd {
				crowd[k] = g.set.NewReader()
				g.look(crowd[k])
			}
			for _, r := range crowd {
				r.Close()
			}
			g.count(tCrowd)
		default:
			r := g.set.NewReader()
			few(r)
			r.Close()
			g.count(tHandles)
		}
		if n%8 == 0 {
			time.Sleep(100 * time.Microsecond)
		}
	}
}
