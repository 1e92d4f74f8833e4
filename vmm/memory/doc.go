// SPDX-License-Identifier: Apache-2.0

// Package memory is a guest's physical memory: RAM around the 32-bit hole,
// memory slots, and host pages laid over any frame. It is the only code that
// maps or unmaps guest memory.
//
// # What is where
//
// RAM is one sparse memfd. It fills guest-physical space from 0 to LowLimit and
// continues at 4 GiB. Pages are host pages outside RAM (shared info, grant
// frames, rings); MapPage lays one over a frame of RAM, by remapping that frame's
// host address in place so that the guest sees no gap, or puts it into a hole
// with a memory slot of its own. AddSlot adds further memory in holes.
//
// # Access
//
// No slice or pointer of guest memory leaves the package, with one exception:
// Resolve, for gpc, whose caller keeps the pointer only until the next
// InvalidateStart. Everything else copies, or works on one aligned word. An
// access runs inside a gpc/srcu section and uses one immutable view of what is
// mapped where; a change publishes a new view and waits for the sections in
// progress before it unmaps anything. So accesses may run at any time, on any
// goroutine, against any change; they take no lock and do not allocate.
//
// # Changes
//
// Changes are serialised by one mutex and are transactions: every notifier's
// InvalidateStart, then the change (mappings, KVM slots), then the new view and
// a grace period, then munmap, then InvalidateEnd. If a step fails, the steps
// before it are undone in reverse and the old state stands. If even that fails,
// the memory refuses all further changes with ErrBroken.
//
// InvalidateEnd, and with it the notifiers' restore hooks, runs after the mutex
// was released. InvalidateStart runs under it and must not call back into
// changes; Resolve is always allowed. A Gate is paused before the mutex is
// taken, so vCPU threads that are in the middle of a change of their own can
// finish it.
package memory
