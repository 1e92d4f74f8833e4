// SPDX-License-Identifier: Apache-2.0

package evtchn

import "xenvmm/xenshim/abi"

// BindIPI is EVTCHNOP_bind_ipi: a new port that sends to vcpu. ENOENT if there
// is no such vCPU, ENOSPC if no port is free. The vCPU may be offline.
func (t *Table) BindIPI(vcpu uint32) (port uint32, e abi.Errno) {
	if vcpu >= uint32(len(t.vcpus)) {
		return 0, abi.ENOENT
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open(entry{state: abi.EvtchnStatIPI, vcpu: int(vcpu)})
}
