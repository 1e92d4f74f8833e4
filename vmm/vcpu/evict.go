// SPDX-License-Identifier: Apache-2.0

package vcpu

import "golang.org/x/sys/unix"

// outside notes that the vCPU is not in the guest any more, nor on its way there.
// Only v's thread calls it.
func (v *VCPU) outside() {
	v.inside.Store(false)
	v.trips.Store(v.trips.Load() + 1)
}

// Evict makes a vCPU leave the guest and returns true once it has been outside
// since the call began. It does not keep it there, but when the vCPU enters again
// it passes Machine.Entering first, and takes up what was changed before the
// call. So what it took up there earlier is not in use any more: a vCPU counts as
// being in the guest from before Entering on. That is what becomes of a frame
// that a running vCPU uses by itself: it is withdrawn, and then whoever may be
// using the old one is made to leave (gpc.Set.NewGuestCache).
//
// With mayBlock false it does not wait, and returns false if the vCPU is still
// on its way out. It costs nothing if the vCPU is outside, does not exist, or if
// its own thread calls. It may be called from any goroutine, also several times
// at once, and the caller may hold whatever the vCPU's thread needs outside the
// guest, except in Entering.
func (g *Group) Evict(vcpu int, mayBlock bool) (done bool) {
	if vcpu < 0 || vcpu >= len(g.cpus) {
		return true
	}
	v := g.cpus[vcpu]
	trip := v.trips.Load()
	if trip%2 == 0 || v.tid.Load() == int32(unix.Gettid()) {
		return true
	}
	v.Kick()
	if !mayBlock {
		return v.trips.Load() != trip
	}
	// A vCPU that leaves looks at evicts after it has noted that it left.
	g.gate.evicts.Add(1)
	defer g.gate.evicts.Add(-1)
	g.gate.mu.Lock()
	defer g.gate.mu.Unlock()
	for v.trips.Load() == trip {
		g.gate.left.Wait()
	}
	return true
}
