// SPDX-License-Identifier: Apache-2.0

package kvm

import "golang.org/x/sys/unix"

// msrTSC is IA32_TIME_STAMP_COUNTER.
const msrTSC = 0x10

// TSC is the vCPU's time stamp counter as the guest would read it now, scaled
// and offset. Like everything of a VCPU it waits for a Run in progress; it does
// not allocate.
func (c *VCPU) TSC() (uint64, error) {
	b := c.tsc[:]
	le.PutUint32(b, 1)
	le.PutUint32(b[sizeMSRsHeader:], msrTSC)
	n, err := callBytes(&c.h, "KVM_GET_MSRS", reqGetMSRs, b)
	if err == nil && n != 1 {
		err = c.h.failed("KVM_GET_MSRS", unix.EINVAL)
	}
	return le.Uint64(b[sizeMSRsHeader+8:]), err
}
