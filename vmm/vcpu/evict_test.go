// SPDX-License-Identifier: Apache-2.0

package vcpu

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

func TestEvictReturnsWhenTheVCPUHasLeft(t *testing.T) {
	m := newFakeMachine()
	var outside sync.Mutex // held: no vCPU enters again
	m.entering = func(*VCPU) error {
		outside.Lock()
		defer outside.Unlock()
		return nil
	}
	g, f := start(t, 2, m)
	for range 200 {
		<-f[0].entered
		outside.Lock()
		if !g.Evict(0, true) {
			t.Fatal("not done")
		}
		f[0].locked(func() {
			if f[0].inRun {
				t.Error("vcpu 0 is in the guest")
			}
		})
		outside.Unlock()
	}
	f[1].locked(func() {
		if f[1].entries > 1 {
			t.Errorf("vcpu 1 was made to leave: %d entries", f[1].entries)
		}
	})
	if !g.Evict(-1, true) || !g.Evict(2, true) {
		t.Error("a vCPU that does not exist keeps its caller waiting")
	}
}

// The vCPU's thread is played by the test.
func TestEvictWaitsForOneExit(t *testing.T) {
	g := NewGroup([]KVM{newFakeKVM()}, newFakeMachine())
	defer g.Close()
	v := g.cpus[0]
	if !g.Evict(0, true) || !g.Evict(0, false) {
		t.Fatal("not done, though the vCPU is outside")
	}
	enter := func() {
		v.trips.Store(v.trips.Load() + 1)
		v.inside.Store(true)
	}
	enter()
	if g.Evict(0, false) {
		t.Fatal("done, with the vCPU in the guest")
	}
	done := make(chan struct{})
	go func() { defer close(done); g.Evict(0, true) }()
	for g.gate.evicts.Load() == 0 {
		runtime.Gosched()
	}
	select {
	case <-done:
		t.Fatal("returned with the vCPU in the guest")
	default:
	}
	// It leaves, and is back before anybody has looked.
	v.outside()
	enter()
	g.gate.exited()
	<-done
	v.outside()
}

// A vCPU that has passed Entering, but not entered, has taken up what there was
// then: it is made to turn round.
func TestEvictTurnsAVCPURoundThatIsOnItsWayIn(t *testing.T) {
	m := newFakeMachine()
	var changes, taken atomic.Int64
	inEntering, goOn := make(chan struct{}), make(chan struct{})
	m.entering = func(*VCPU) error {
		taken.Store(changes.Load())
		inEntering <- struct{}{}
		<-goOn
		return nil
	}
	g, f := start(t, 1, m)
	<-inEntering
	changes.Add(1) // too late for this entry
	if g.Evict(0, false) {
		t.Error("done, though the vCPU is about to enter")
	}
	evicted := make(chan struct{})
	go func() { defer close(evicted); g.Evict(0, true) }()
	for g.gate.evicts.Load() == 0 {
		runtime.Gosched()
	}
	goOn <- struct{}{}
	<-evicted
	<-inEntering
	if taken.Load() != 1 {
		t.Error("the change was not taken up")
	}
	m.entering = nil // its thread is waiting for goOn
	goOn <- struct{}{}
	<-f[0].entered
}

// Many evict at once, a vCPU of another among them, while the vCPUs leave and
// enter for reasons of their own: each returns.
func TestEvictionsAtOnceAllReturn(t *testing.T) {
	g, f := start(t, 3, newFakeMachine())
	for _, k := range f {
		<-k.entered
	}
	var evictors sync.WaitGroup
	for i := range 6 {
		evictors.Go(func() {
			for n := range 300 {
				switch {
				case i == 5 && n%10 == 0:
					g.Pause()()
				case i == 4:
					_ = g.Do(n%3, func(KVM) error { g.Evict(n%3, true); return nil }) // its own thread
				default:
					g.Evict((i+n)%3, n%7 != 0)
				}
			}
		})
	}
	evictors.Wait()
	if g.gate.evicts.Load() != 0 {
		t.Error("somebody is still counted as waiting")
	}
}
