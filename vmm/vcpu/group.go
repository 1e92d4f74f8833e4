// SPDX-License-Identifier: Apache-2.0

package vcpu

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrStopped is returned by Do when the vCPUs have ended.
var ErrStopped = errors.New("virtual machine has stopped")

// Group is the vCPUs of one machine.
type Group struct {
	cpus []*VCPU
	gate gate
	wg   sync.WaitGroup

	mu   sync.Mutex // guards stop
	stop *Stop
	done chan struct{} // closed with the first stop
}

// NewGroup makes a group of vCPUs that do not run yet. It takes over the KVM
// handles: Close closes them.
func NewGroup(kvms []KVM, machine Machine) *Group {
	g := &Group{done: make(chan struct{})}
	g.gate.init()
	for i, k := range kvms {
		g.cpus = append(g.cpus, newVCPU(g, i, k, machine))
	}
	return g
}

// Start runs every vCPU on a thread of its own.
func (g *Group) Start() {
	for _, v := range g.cpus {
		g.wg.Go(v.thread)
	}
}

// Len is the number of vCPUs.
func (g *Group) Len() int { return len(g.cpus) }

// Kick makes a vCPU leave the guest and look at its requests; it never blocks.
// A number that names no vCPU is ignored.
func (g *Group) Kick(vcpu int) {
	if vcpu >= 0 && vcpu < len(g.cpus) {
		g.cpus[vcpu].Kick()
	}
}

// Wake ends the wait of a vCPU that is in SCHEDOP_block or SCHEDOP_poll; it is
// remembered if the vCPU is just about to wait. It never blocks.
func (g *Group) Wake(vcpu int) {
	if vcpu >= 0 && vcpu < len(g.cpus) {
		g.cpus[vcpu].wakeUp()
	}
}

// Stop ends the group with a reason, unless it has one already.
func (g *Group) Stop(s Stop) {
	g.mu.Lock()
	first := g.stop == nil
	if first {
		g.stop = &s
		close(g.done)
	}
	g.mu.Unlock()
	if !first {
		return
	}
	for _, v := range g.cpus {
		v.Kick()
	}
	g.gate.wake()
}

// Done is closed when the group has a reason to stop; its threads may still be
// on their way out.
func (g *Group) Done() <-chan struct{} { return g.done }

// Wait returns when the group has stopped and no thread runs any more.
func (g *Group) Wait() { g.wg.Wait() }

// Reason is why the group stopped; nil while it has not.
func (g *Group) Reason() *Stop {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stop
}

// Close stops the group if it runs, waits for the threads and closes the KVM
// handles.
func (g *Group) Close() error {
	g.Stop(Stop{Reason: StopClosed})
	g.wg.Wait()
	var errs []error
	for _, v := range g.cpus {
		errs = append(errs, v.kvm.Close())
	}
	return errors.Join(errs...)
}

// Do runs f on the thread of a vCPU, outside the guest, and waits for it. A
// vCPU's thread that waits here meanwhile does what others hand to it, so two
// vCPUs may call Do for each other.
func (g *Group) Do(vcpu int, f func(KVM) error) error {
	if vcpu < 0 || vcpu >= len(g.cpus) {
		return fmt.Errorf("vcpu %d does not exist: the machine has %d", vcpu, len(g.cpus))
	}
	target := g.cpus[vcpu]
	self := g.current()
	if self == target {
		return f(target.kvm)
	}
	op := &operation{f: f, done: make(chan error, 1)}
	target.post(op)
	if self == nil {
		select {
		case err := <-op.done:
			return err
		case <-g.done:
			return ErrStopped
		}
	}
	for {
		select {
		case err := <-op.done:
			return err
		case <-self.posted:
			self.runPosted()
		case <-g.done:
			return ErrStopped
		}
	}
}

// Current is the number of the vCPU whose thread calls, -1 for any other thread.
func (g *Group) Current() int {
	if v := g.current(); v != nil {
		return v.id
	}
	return -1
}

// current is the vCPU whose thread this is, nil for any other thread.
func (g *Group) current() *VCPU {
	tid := int32(unix.Gettid())
	for _, v := range g.cpus {
		if v.tid.Load() == tid {
			return v
		}
	}
	return nil
}
