// SPDX-License-Identifier: Apache-2.0

package gpc

import "xenvmm/gpc/srcu"

// The sections. Each is one assembly function, which the Go scheduler never
// preempts, so that a grace period waits for nanoseconds and not for a time
// slice. slot is the reader's counter; an uncounted one if the caller holds the
// lock of a lock guard over the call.

// Offsets and values for the assembly.
const (
	slotSeq      = srcu.SlotSeq
	slotMode     = srcu.SlotMode
	slotSequence = srcu.SlotSequence
	slotRestarts = srcu.SlotRestarts
	slotWaiter   = srcu.SlotWaiter

	modeRestartable = srcu.ModeRestartable
	modeUncounted   = srcu.ModeUncounted
)

// maxCAS bounds the tries of a read-modify-write whose old value is wanted. A
// guest that hammers the word must not keep a section from ending.
//
//lint:ignore U1000 the assembly uses it as const_maxCAS
const maxCAS = 128

//go:noescape
func deliver(slot *srcu.Slot, s *Signal) Result

//go:noescape
func unmask(slot *srcu.Slot, s *Signal) Result

//go:noescape
func resume(slot *srcu.Slot, s *Signal) Result

//go:noescape
func raise(slot *srcu.Slot, s *Signal) Result

//go:noescape
func load32(slot *srcu.Slot, c *Cache, off uint32) (v uint32, ok bool)

//go:noescape
func xchg32(slot *srcu.Slot, c *Cache, off, v uint32) (old uint32, ok bool)

//go:noescape
func xchg8(slot *srcu.Slot, c *Cache, off uint32, v uint8) (old uint8, ok bool)

//go:noescape
func or32(slot *srcu.Slot, c *Cache, off, bits uint32) (old uint32, ok bool)

//go:noescape
func and32(slot *srcu.Slot, c *Cache, off, bits uint32) (old uint32, ok bool)

//go:noescape
func cas32(slot *srcu.Slot, c *Cache, off, expect, v uint32) (found uint32, ok bool)

//go:noescape
func copyOut(slot *srcu.Slot, c *Cache, off uint32, p []byte) (ok bool)

//go:noescape
func copyIn(slot *srcu.Slot, c *Cache, off uint32, p []byte) (ok bool)
