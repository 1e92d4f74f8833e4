// SPDX-License-Identifier: Apache-2.0

package vmm

import "xenvmm/gpc"

// NewGuestCache returns an inactive cache for a frame that the given vCPU uses by
// itself while it runs: when the frame is withdrawn, the vCPU is made to leave
// KVM_RUN before the memory goes. It comes back at once; whoever gave it the
// frame has it use the new one from its next entry on.
//
// Nothing in this package needs one yet. What KVM itself writes to, the time in
// vcpu_info and the steal time, it looks up again after every slot change, and
// what the guest's own instructions reach KVM's page tables follow; a cache here
// would only slow down each change of those frames by an exit of the vCPU. It is
// for pages whose address a vCPU is given in a form that KVM does not follow.
func (m *Machine) NewGuestCache(vcpu int, name string) *gpc.Cache {
	return m.caches.NewGuestCache(name, func(mayBlock bool) bool { return m.group.Evict(vcpu, mayBlock) })
}
