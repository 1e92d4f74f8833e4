// SPDX-License-Identifier: Apache-2.0

package vcpu

// operation is work for a vCPU's thread.
type operation struct {
	f    func(KVM) error
	done chan error // buffered: the thread never waits for whoever asked
}

// post hands op to v's thread and makes it look.
func (v *VCPU) post(op *operation) {
	v.mu.Lock()
	v.ops = append(v.ops, op)
	v.mu.Unlock()
	v.hasOps.Store(true)
	select {
	case v.posted <- struct{}{}:
	default: // a wake-up is on its way already
	}
	v.Kick()
	v.group.gate.wake()
}

// runPosted does what was handed over. Only v's thread calls it.
func (v *VCPU) runPosted() {
	if !v.hasOps.Swap(false) {
		return
	}
	v.mu.Lock()
	ops := v.ops
	v.ops = nil
	v.mu.Unlock()
	for _, op := range ops {
		op.done <- op.f(v.kvm)
	}
}
