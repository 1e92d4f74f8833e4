// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"
)

// A crew is operating-system threads that do what they are told. They are locked
// and never unlocked, so what is done to them ends with them.
type crew struct {
	jobs  []chan func(id int)
	ended sync.WaitGroup
	busy  sync.WaitGroup
}

func newCrew(n int) *crew {
	c := &crew{jobs: make([]chan func(int), n)}
	for id := range c.jobs {
		c.jobs[id] = make(chan func(int), 1)
		c.ended.Go(func() {
			runtime.LockOSThread()
			for job := range c.jobs[id] {
				job(id)
				c.busy.Done()
			}
		})
	}
	return c
}

// start has f done by n threads at once, from the first'th on; f gets the number
// of each, from first.
func (c *crew) start(first, n int, f func(id int)) {
	c.busy.Add(n)
	for _, jobs := range c.jobs[first : first+n] {
		jobs <- f
	}
}

// wait returns when all that was started is done.
func (c *crew) wait() { c.busy.Wait() }

// close ends the threads.
func (c *crew) close() {
	for _, jobs := range c.jobs {
		close(jobs)
	}
	c.ended.Wait()
}

// confine lets the calling thread run on these CPUs only.
func confine(cpus ...int) {
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	_ = unix.SchedSetaffinity(0, &set) // a machine that refuses is measured unpinned
}

// heapLimit is where the collector starts after all: minutes of invalidations
// leave gigabytes of small mappings behind.
const heapLimit = 1 << 30

// tuneRuntime gives Go's scheduler as many processors as there are threads that
// want to run, so that it stands in nobody's way, and stops the collector, whose
// pauses are not what is measured. The result undoes both. Two benchmarks do not
// run at once in one process.
func tuneRuntime(procs int) (undo func()) {
	p := runtime.GOMAXPROCS(procs)
	gc, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(heapLimit)
	return func() {
		debug.SetGCPercent(gc)
		debug.SetMemoryLimit(limit)
		runtime.GOMAXPROCS(p)
	}
}
