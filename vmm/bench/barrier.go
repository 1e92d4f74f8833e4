// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A barrier holds threads until all of them have come. They spin, so that they
// leave together, and yield the CPU after a while; each needs a processor of Go's
// (tuneRuntime). With more threads than CPUs they sleep instead: those that have
// come would only keep the others from coming.
type barrier struct {
	n       int32
	crowd   bool
	_       [120]byte
	arrived atomic.Int32
	_       [124]byte
	phase   atomic.Uint32
	_       [124]byte
	mu      sync.Mutex
	passed  sync.Cond // phase has changed; on mu
}

func newBarrier(n int, crowd bool) *barrier {
	b := &barrier{n: int32(n), crowd: crowd}
	b.passed.L = &b.mu
	return b
}

const spinsPerYield = 2000

// wait returns when all have come; last runs on the last of them before that.
func (b *barrier) wait(last func()) {
	phase := b.phase.Load()
	if b.arrived.Add(1) == b.n {
		b.arrived.Store(0)
		last()
		b.mu.Lock()
		b.phase.Add(1)
		b.mu.Unlock()
		b.passed.Broadcast()
		return
	}
	if b.crowd {
		b.mu.Lock()
		for b.phase.Load() == phase {
			b.passed.Wait()
		}
		b.mu.Unlock()
		return
	}
	for i := 1; b.phase.Load() == phase; i++ {
		if i%spinsPerYield == 0 {
			yield()
		}
	}
}

// yield lets another thread have the CPU. It is the kernel's yield and not Go's,
// which would stop a locked thread and start another for nothing.
func yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
