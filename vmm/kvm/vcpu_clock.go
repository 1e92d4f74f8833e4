// SPDX-License-Identifier: Apache-2.0

package kvm

import "golang.org/x/sys/unix"

const msrTSC = 0x10 // IA32_TIME_STAMP_COUNTER

// MSRSystemTime is MSR_KVM_SYSTEM_TIME_NEW: KVM keeps a pvclock at the guest
// physical address written to it, bit 0 set (Documentation/virt/kvm/x86/msr.rst).
// The host may write it though the guest is shown no such feature. An INIT clears
// it.
const MSRSystemTime = 0x4b564d01

// clockMSRs are the two that Clock reads, as struct kvm_msrs.
type clockMSRs [sizeMSRsHeader + 2*sizeMSREntry]byte

// Clock is the vCPU's time stamp counter as the guest would read it now, scaled
// and offset, and the value of MSRSystemTime. Like everything of a VCPU it waits
// for a Run in progress; it does not allocate.
func (c *VCPU) Clock() (tsc, systemTime uint64, err error) {
	const first, second = sizeMSRsHeader, sizeMSRsHeader + sizeMSREntry
	b := c.clock[:]
	le.PutUint32(b, 2)
	le.PutUint32(b[first:], MSRSystemTime)
	le.PutUint32(b[second:], msrTSC)
	n, err := callBytes(&c.h, "KVM_GET_MSRS", reqGetMSRs, b)
	if err == nil && n != 2 {
		err = c.h.failed("KVM_GET_MSRS", unix.EINVAL)
	}
	return le.Uint64(b[second+8:]), le.Uint64(b[first+8:]), err
}
