// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Limits of an MSR filter (KVM_MSR_FILTER_MAX_*).
const (
	MaxMSRRanges   = 16
	MaxMSRPerRange = 0x600 * 8
)

// MSRExit says which guest MSR accesses leave KVM_RUN (KVM_MSR_EXIT_REASON_*).
type MSRExit uint32

const (
	MSRExitInvalid MSRExit = 1 << 0 // a write with an invalid value
	MSRExitUnknown MSRExit = 1 << 1 // an MSR that KVM does not know
	MSRExitFilter  MSRExit = 1 << 2 // denied by the filter
)

// EnableUserSpaceMSR makes the accesses in reasons exit with ExitRDMSR or
// ExitWRMSR instead of raising #GP in the guest.
func (v *VM) EnableUserSpaceMSR(reasons MSRExit) error {
	return v.EnableCap(CapX86UserSpaceMSR, uint64(reasons))
}

// MSRRange is one range of an MSR filter.
type MSRRange struct {
	Base, N     uint32
	Read, Write bool // which accesses the range decides; at least one
	// Allow has a bit per MSR of the range, lowest first: 1 allows. nil denies
	// the whole range.
	Allow []byte
}

// SetMSRFilter replaces the MSR filter. An access outside all ranges is allowed
// or denied by defaultAllow; a denied one raises #GP, or exits to user space if
// EnableUserSpaceMSR has MSRExitFilter. x2APIC MSRs are never filtered.
func (v *VM) SetMSRFilter(ranges []MSRRange, defaultAllow bool) error {
	var pin runtime.Pinner
	defer pin.Unpin()
	f, err := encodeMSRFilter(ranges, defaultAllow, &pin)
	if err != nil {
		return v.h.failed("KVM_X86_SET_MSR_FILTER: "+err.Error(), unix.EINVAL)
	}
	_, err = callStruct(&v.h, "KVM_X86_SET_MSR_FILTER", reqSetMSRFilter, f)
	return err
}

// encodeMSRFilter pins the bitmaps whose addresses it stores.
func encodeMSRFilter(ranges []MSRRange, defaultAllow bool, pin *runtime.Pinner) (*msrFilter, error) {
	f := new(msrFilter)
	if !defaultAllow {
		f.flags = 1
	}
	if len(ranges) > MaxMSRRanges {
		return nil, fmt.Errorf("%d ranges, at most %d", len(ranges), MaxMSRRanges)
	}
	for i, r := range ranges {
		bytes := (int(r.N) + 7) / 8
		switch {
		case r.N == 0 || r.N > MaxMSRPerRange:
			return nil, fmt.Errorf("range %d at %#x has %d MSRs, allowed are 1 to %d", i, r.Base, r.N, MaxMSRPerRange)
		case uint64(r.Base)+uint64(r.N) > 1<<32:
			return nil, fmt.Errorf("range %d at %#x with %d MSRs passes the end of the MSR space", i, r.Base, r.N)
		case !r.Read && !r.Write:
			return nil, fmt.Errorf("range %d at %#x covers neither reads nor writes", i, r.Base)
		case r.Allow != nil && len(r.Allow) < bytes:
			return nil, fmt.Errorf("range %d at %#x has a bitmap of %d bytes, needs %d", i, r.Base, len(r.Allow), bytes)
		}
		// The kernel copies whole longs.
		bits := make([]byte, (bytes+7)&^7)
		copy(bits, r.Allow[:min(len(r.Allow), bytes)])
		pin.Pin(&bits[0])
		e := &f.ranges[i]
		e.base, e.n, e.bitmap = r.Base, r.N, addressOf(&bits[0])
		if r.Read {
			e.flags |= 1 << 0
		}
		if r.Write {
			e.flags |= 1 << 1
		}
	}
	return f, nil
}
