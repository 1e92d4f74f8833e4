// SPDX-License-Identifier: Apache-2.0

package irq

import "fmt"

// State tells, for people, how a vCPU is interrupted for its events, and whether
// it is owed an upcall. It may be called from any thread.
func (c *Controller) State(vcpu int) (how string, owed bool) {
	if vcpu < 0 || vcpu >= len(c.cpus) {
		return "nothing", false
	}
	p := &c.cpus[vcpu]
	owed = p.owed.Load()
	if v := p.vector.Load(); v != 0 {
		return fmt.Sprintf("vector %#x", v), owed
	}
	switch cb := unpack(c.callback.Load()); cb.Type {
	case CallbackVector:
		return fmt.Sprintf("callback vector %#x", cb.Vector), owed
	case CallbackGSI, CallbackINTx:
		if gsi, ok := cb.line(); ok && vcpu == 0 {
			return fmt.Sprintf("line %d", gsi), owed
		}
	}
	return "nothing", owed
}
