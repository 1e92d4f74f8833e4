// SPDX-License-Identifier: Apache-2.0

package vcpu

import (
	"sync"
	"sync/atomic"
)

// gate keeps vCPUs out of the guest while memory that they use changes place.
type gate struct {
	closed atomic.Int32 // how many pauses are in force
	evicts atomic.Int32 // how many wait for one vCPU to leave

	mu   sync.Mutex // guards the conditions; taken on the slow path only
	left sync.Cond  // a vCPU left the guest while somebody waited for that
	open sync.Cond  // the gate opened, or a parked vCPU has work
}

func (g *gate) init() {
	g.left.L = &g.mu
	g.open.L = &g.mu
}

// exited tells those who wait that a vCPU is outside. It costs two loads while
// nobody does.
func (g *gate) exited() {
	if g.closed.Load() == 0 && g.evicts.Load() == 0 {
		return
	}
	g.mu.Lock()
	g.left.Broadcast()
	g.mu.Unlock()
}

// park blocks while the gate is closed and interrupted says that there is
// nothing else to do.
func (g *gate) park(interrupted func() bool) {
	g.mu.Lock()
	for g.closed.Load() != 0 && !interrupted() {
		g.open.Wait()
	}
	g.mu.Unlock()
}

// wake makes parked vCPUs look at their requests.
func (g *gate) wake() {
	if g.closed.Load() == 0 {
		return
	}
	g.mu.Lock()
	g.open.Broadcast()
	g.mu.Unlock()
}

// Pause makes every vCPU leave the guest and keeps it out until resume is
// called; it returns when all are outside. Pauses nest. It may be called by a
// vCPU's own thread, which is outside by then.
func (g *Group) Pause() (resume func()) {
	g.gate.mu.Lock()
	g.gate.closed.Add(1)
	for _, v := range g.cpus {
		v.Kick()
	}
	for _, v := range g.cpus {
		for v.inside.Load() {
			g.gate.left.Wait()
		}
	}
	g.gate.mu.Unlock()
	var once sync.Once
	return func() {
		once.Do(func() {
			g.gate.mu.Lock()
			g.gate.closed.Add(-1)
			g.gate.open.Broadcast()
			g.gate.mu.Unlock()
		})
	}
}
