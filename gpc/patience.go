// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"sync"
	"sync/atomic"
	"time"
)

// A refresh that an invalidation overtakes tries again. Against a storm of them
// on its own page it would never get its turn, so after politeTries it closes
// the gate, which holds those that end an invalidation back for up to holdOff,
// far longer than a refresh takes. They are held at the end and not at the
// start because there they hold no lock that the Resolver may want. The delay is
// bounded, so nothing can deadlock. After maxTries, or when it has waited for
// waitBudget in all, the refresh gives up.
const (
	politeTries = 3
	maxTries    = 64
	holdOff     = time.Millisecond
	tryLimit    = 10 * time.Millisecond
	waitBudget  = 250 * time.Millisecond
)

// A gate holds invalidators back while it is closed.
type gate struct {
	closed atomic.Int32 // how many keep it closed
	mu     sync.Mutex
	opened chan struct{} // closed when the gate opens; nil while it is open
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed.Add(1) == 1 {
		g.opened = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed.Add(-1) == 0 {
		close(g.opened)
		g.opened = nil
	}
}

// pass waits while the gate is closed, but not for longer than holdOff.
func (g *gate) pass() {
	if g.closed.Load() == 0 {
		return
	}
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	if opened == nil {
		return
	}
	t := time.NewTimer(holdOff)
	defer t.Stop()
	select {
	case <-opened:
	case <-t.C:
	}
}

// patience counts the tries of one refresh.
type patience struct {
	set    *Set
	tries  int
	first  time.Time
	gating bool
}

// next blocks while transactions that concern p are in progress and reports
// whether another try may be made.
func (pt *patience) next(p place) bool {
	switch {
	case pt.tries == 0:
		pt.first = time.Now()
	case pt.tries == maxTries || time.Since(pt.first) > waitBudget:
		return false
	}
	if pt.tries == politeTries {
		pt.set.gate.close()
		pt.gating = true
	}
	pt.tries++
	pt.set.txns.await(p, tryLimit)
	return true
}

func (pt *patience) end() {
	if pt.gating {
		pt.set.gate.open()
	}
}
