// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"runtime"
	"sync/atomic"
)

// newSpinlockGuard returns a guard with one spinlock for all caches of the Set,
// readers excluding one another.
func newSpinlockGuard(Options) guard {
	s := new(spinlockSection)
	return lockGuard{s, &s.mu}
}

type spinlockSection struct {
	_  linePad
	mu spinlock
	_  linePad
}

func (s *spinlockSection) enter(_, _ *Cache) { s.mu.Lock() }
func (s *spinlockSection) exit(_, _ *Cache)  { s.mu.Unlock() }

// A spinlock is a test-and-test-and-set lock. A holder may be preempted, by Go
// or by the kernel, so waiting yields the processor after a while.
type spinlock struct {
	held atomic.Uint32
}

const spinsPerYield = 1000

func (l *spinlock) TryLock() bool {
	return l.held.Load() == 0 && l.held.CompareAndSwap(0, 1)
}

func (l *spinlock) Lock() {
	for i := 1; !l.TryLock(); i++ {
		if i%spinsPerYield == 0 {
			runtime.Gosched()
		}
	}
}

func (l *spinlock) Unlock() { l.held.Store(0) }
