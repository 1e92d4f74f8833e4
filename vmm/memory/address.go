// SPDX-License-Identifier: Apache-2.0

package memory

import "fmt"

// Address is the host address of page idx, for a kernel that writes to it by
// itself (KVM_XEN_ATTR_TYPE_SHARED_INFO_HVA). Wherever the guest has the page,
// the address stays the same, and is good until Memory.Close. What is written
// there is not marked dirty.
func (p *Pages) Address(idx int) (uintptr, error) {
	if err := p.m.checkPage(p, idx); err != nil {
		return 0, fmt.Errorf("address: %w", err)
	}
	return address(at(p.base, uint64(idx)*PageSize)), nil
}
