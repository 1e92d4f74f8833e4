// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"xenvmm/gpc/srcu"
)

// Accesses come from any goroutine, but an srcu.Reader serves one at a time. So
// readers are lent from a pool: an access claims a free one with a single
// exchange, starting at a random place so that concurrent accesses seldom try
// the same. The pool grows when all are lent and shrinks only at Close; it
// never gets larger than the number of goroutines that were inside at once.

type lender struct {
	domain *srcu.Domain
	pool   atomic.Pointer[[]*lent]
	mu     sync.Mutex // growth
	closed bool       // under mu
}

type lent struct {
	busy atomic.Bool
	r    *srcu.Reader
	_    [48]byte // a cache line each
}

const firstReaders = 8

func newLender() *lender {
	l := &lender{domain: srcu.New(srcu.Options{})}
	l.pool.Store(new([]*lent))
	l.grow(firstReaders)
	return l
}

// enter begins a section; the caller ends it with exit. nil after retire.
func (l *lender) enter() *lent {
	for {
		pool := *l.pool.Load()
		first := uint(rand.Uint32())
		for i := range uint(len(pool)) {
			e := pool[(first+i)%uint(len(pool))]
			if e.busy.CompareAndSwap(false, true) {
				e.r.Enter()
				return e
			}
		}
		if !l.grow(len(pool) * 2) {
			return nil
		}
	}
}

func (e *lent) exit() {
	e.r.Exit()
	e.busy.Store(false)
}

// grow makes the pool at least n readers large; false after retire.
func (l *lender) grow(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	old := *l.pool.Load()
	if len(old) >= n {
		return true
	}
	pool := append(make([]*lent, 0, n), old...)
	for len(pool) < n {
		pool = append(pool, &lent{r: l.domain.NewReader()})
	}
	l.pool.Store(&pool)
	return true
}

// retire gives the readers back. It borrows each for good, so it returns when
// the last access has ended, which is soon: sections are short and never wait.
func (l *lender) retire() {
	l.mu.Lock()
	l.closed = true
	pool := *l.pool.Load()
	l.mu.Unlock()
	for _, e := range pool {
		for !e.busy.CompareAndSwap(false, true) {
			runtime.Gosched()
		}
		e.r.Close()
	}
}

// enter begins a section and gives the view that is valid in it.
func (m *Memory) enter() (*lent, *view, error) {
	e := m.readers.enter()
	if e == nil {
		return nil, nil, ErrClosed
	}
	v := m.view.Load()
	if v == nil {
		e.exit()
		return nil, nil, ErrClosed
	}
	return e, v, nil
}
