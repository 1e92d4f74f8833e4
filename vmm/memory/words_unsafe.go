// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"sync/atomic"
	"unsafe"
)

// word32 and word64 are one aligned word of mapped memory. Go's atomics on it
// are locked instructions or plain aligned moves, as the guest's own are.
func word32(base hva, off uint64) *uint32 { return (*uint32)(unsafe.Add(base, off)) }
func word64(base hva, off uint64) *uint64 { return (*uint64)(unsafe.Add(base, off)) }

// touch makes the kernel map a page for writing, without changing it: an OR of
// 0 is a write as far as the processor is concerned.
func touch(base hva, off uint64) {
	atomic.OrUint32((*uint32)(unsafe.Add(base, off&^3)), 0)
}
