// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"math/bits"

	"xenvmm/xenshim/abi"
)

// allocate takes the lowest free port, or fails with ENOSPC. Its pending bit is
// clear, its mask as the guest left it. The caller holds mu and publishes an
// entry or calls release.
func (t *Table) allocate() (uint32, abi.Errno) {
	limit := t.current().ports()
	for w, used := range t.used {
		for free := ^used; free != 0; free &= free - 1 {
			port := uint32(w*64 + bits.TrailingZeros64(free))
			if port >= limit {
				return 0, abi.ENOSPC
			}
			// The bit of an earlier life of the port may still be set where it
			// could not be cleared. Clearing it later would lose events.
			if t.kept.clears.has(port) && !t.clearPending(port) {
				continue
			}
			t.kept.clears.take(port)
			t.used[w] |= 1 << (port % 64)
			return port, abi.OK
		}
	}
	return 0, abi.ENOSPC
}

func (t *Table) release(port uint32) { t.used[port/64] &^= 1 << (port % 64) }

// open allocates a port for e. The caller holds mu.
func (t *Table) open(e entry) (uint32, abi.Errno) {
	port, errno := t.allocate()
	if errno != abi.OK {
		return 0, errno
	}
	t.publish(port, e)
	return port, abi.OK
}

// AllocUnbound is EVTCHNOP_alloc_unbound: a new port of domain dom that remote
// may bind to. EPERM or ESRCH if dom is not the caller, ENOSPC if no port is
// free. That remote exists is not checked.
func (t *Table) AllocUnbound(dom, remote abi.DomID) (port uint32, e abi.Errno) {
	if e := t.target(dom); e != abi.OK {
		return 0, e
	}
	if remote == abi.DomIDSelf {
		remote = t.self
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open(entry{state: abi.EvtchnStatUnbound, dom: remote})
}
