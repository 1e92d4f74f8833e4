// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"math/bits"
	"sync/atomic"
)

// bitmap has one bit per port, or per vCPU. All methods are atomic.
type bitmap [maxPorts / 64]atomic.Uint64

func (b *bitmap) set(n uint32)      { b[n/64].Or(1 << (n % 64)) }
func (b *bitmap) has(n uint32) bool { return b[n/64].Load()>>(n%64)&1 != 0 }

// take clears bit n and reports whether it was set.
func (b *bitmap) take(n uint32) bool {
	return b.has(n) && b[n/64].And(^(uint64(1)<<(n%64)))>>(n%64)&1 != 0
}

// clear clears all bits, one word at a time.
func (b *bitmap) clear() {
	for i := range b {
		b[i].Store(0)
	}
}

func (b *bitmap) any() bool {
	for i := range b {
		if b[i].Load() != 0 {
			return true
		}
	}
	return false
}

// each calls f for the bits that are set when their word is looked at.
func (b *bitmap) each(f func(n uint32)) {
	for i := range b {
		for w := b[i].Load(); w != 0; w &= w - 1 {
			f(uint32(i*64 + bits.TrailingZeros64(w)))
		}
	}
}
