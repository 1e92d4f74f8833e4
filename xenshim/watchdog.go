// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"sync"
	"time"

	"xenvmm/xenshim/abi"
)

// watchdogGrain is the shortest time between two looks at a watchdog.
const watchdogGrain = 10 * time.Millisecond

// stopper is a running timer.
type stopper interface{ Stop() bool }

// afterFunc runs f once after d, on a goroutine of its own.
type afterFunc func(d time.Duration, f func()) stopper

// watchdogs are the two watchdog timers of SCHEDOP_watchdog. Each counts
// guest time in seconds; one that runs out shuts the domain down with reason
// watchdog. A host timer only says "look": guest time decides, so that a
// paused guest is not killed.
type watchdogs struct {
	mu     sync.Mutex
	after  afterFunc
	now    func() uint64
	expire func()
	slot   [abi.SchedWatchdogs]struct {
		used     bool
		deadline uint64 // guest ns
		timer    stopper
		gen      uint64
	}
}

// set starts (id 0), rearms or stops (timeout 0) a watchdog. It returns the
// id of a new one, 1 or 2.
func (w *watchdogs) set(id, timeout uint32) int64 {
	if id > abi.SchedWatchdogs {
		return errno(abi.EINVAL)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if id == 0 {
		for i := range w.slot {
			if !w.slot[i].used {
				w.slot[i].used = true
				w.arm(i, timeout)
				return int64(i) + 1
			}
		}
		return errno(abi.ENOSPC)
	}
	i := int(id) - 1
	if !w.slot[i].used {
		return errno(abi.EINVAL)
	}
	if timeout == 0 {
		w.stop(i)
		w.slot[i].used = false
		return 0
	}
	w.arm(i, timeout)
	return 0
}

// arm starts slot i's count anew. Callers hold mu.
func (w *watchdogs) arm(i int, seconds uint32) {
	w.stop(i)
	s := &w.slot[i]
	s.deadline = w.now() + uint64(seconds)*uint64(time.Second)
	w.watch(i, time.Duration(seconds)*time.Second)
}

// watch looks at slot i again after d. Callers hold mu.
func (w *watchdogs) watch(i int, d time.Duration) {
	gen := w.slot[i].gen
	w.slot[i].timer = w.after(d, func() { w.look(i, gen) })
}

// stop makes a timer under way ineffective. Callers hold mu.
func (w *watchdogs) stop(i int) {
	s := &w.slot[i]
	s.gen++
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// look expires slot i if its guest time has come.
func (w *watchdogs) look(i int, gen uint64) {
	w.mu.Lock()
	s := &w.slot[i]
	if !s.used || s.gen != gen {
		w.mu.Unlock()
		return
	}
	if now := w.now(); now < s.deadline {
		// A clock that stands still must not make this spin.
		w.watch(i, max(time.Duration(s.deadline-now), watchdogGrain))
		w.mu.Unlock()
		return
	}
	s.used = false
	w.stop(i)
	w.mu.Unlock()
	w.expire()
}

// reset stops both.
func (w *watchdogs) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.slot {
		w.stop(i)
		w.slot[i].used = false
	}
}
