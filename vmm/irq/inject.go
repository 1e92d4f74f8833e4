// SPDX-License-Identifier: Apache-2.0

package irq

// Injector presents an external interrupt to a vCPU that is outside the
// guest. Only that vCPU's thread uses it.
type Injector interface {
	// CanInject tells whether the vCPU takes an interrupt now: interrupts
	// enabled, no shadow of STI or MOV SS, nothing injected before, online.
	CanInject() bool
	// Inject queues vector for the next entry and ends a HLT.
	Inject(vector uint8) error
}

// Enter must be called by a vCPU's thread before it enters the guest. It
// presents an owed upcall if the vCPU can take it now.
//
// The debt of a vector callback stays until the guest has cleared
// evtchn_upcall_pending, because Xen presents this callback for as long as that
// is set; so a handler that returned without clearing it is called again.
func (c *Controller) Enter(vcpu int, in Injector) error {
	p := &c.cpus[vcpu]
	if !p.owed.Load() {
		return nil
	}
	// Settle before looking: an upcall raised after the look owes anew.
	c.settle(p)
	if !c.cfg.Pending(vcpu) {
		return nil
	}
	if v := p.vector.Load(); v != 0 {
		c.send(vcpu, v)
		return nil
	}
	cb := unpack(c.callback.Load())
	if cb.Type != CallbackVector {
		return nil
	}
	c.owe(p)
	if !in.CanInject() {
		return nil
	}
	return in.Inject(cb.Vector)
}
