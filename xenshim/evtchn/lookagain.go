// SPDX-License-Identifier: Apache-2.0

package evtchn

// LookAgain makes a vCPU look at all its ports, by one event that may be more
// than necessary. It is for those who deliver events by other means than this
// table, and have just begun or ceased to do so for this vCPU, or at another
// vcpu_info: what they have set at the old place is found then.
func (t *Table) LookAgain(vcpu int) {
	if vcpu < 0 || vcpu >= len(t.vcpus) {
		return
	}
	t.kept.keepMark(vcpu)
	t.kept.replay()
}
