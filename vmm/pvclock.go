// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"encoding/binary"
	"math/bits"
)

// pvclockSize is that of struct vcpu_time_info (public/xen.h), which is the
// kernel's pvclock_vcpu_time_info (asm/pvclock-abi.h).
const pvclockSize = 32

// maxGuestTime bounds what is taken for a time, 146 years, so that a period or
// a delay can be added to it: the page is the guest's to write as well.
const maxGuestTime = uint64(1)<<62 - 1

// pvclock is a time in ns as a function of the time stamp counter.
type pvclock struct {
	tsc   uint64 // the counter at system
	time  uint64 // ns
	mul   uint32 // ns << 32 for each tick, after the shift
	shift int8   // of ticks: to the left, or to the right if negative
}

// parsePVClock reads the structure
//
//	{version u32 @0, tsc_timestamp u64 @8, system_time u64 @16,
//	 tsc_to_system_mul u32 @24, tsc_shift i8 @28, flags u8 @29}
//
// and reports false if it holds none yet, or is being written.
func parsePVClock(p *[pvclockSize]byte) (pvclock, bool) {
	le := binary.LittleEndian
	c := pvclock{tsc: le.Uint64(p[8:]), time: le.Uint64(p[16:]), mul: le.Uint32(p[24:]), shift: int8(p[28])}
	return c, le.Uint32(p[0:])&1 == 0 && c.mul != 0
}

// at is the time when the counter shows tsc.
func (c pvclock) at(tsc uint64) uint64 {
	d := tsc - c.tsc
	if c.shift >= 0 {
		d <<= uint(c.shift)
	} else {
		d >>= uint(-int(c.shift))
	}
	hi, lo := bits.Mul64(d, uint64(c.mul))
	ns := hi<<32 | lo>>32
	if ns > maxGuestTime || c.time > maxGuestTime-ns {
		return maxGuestTime
	}
	return c.time + ns
}
