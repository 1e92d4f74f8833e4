// SPDX-License-Identifier: Apache-2.0

package memory

import "errors"

var (
	// ErrNoMemory: nothing is mapped at the guest-physical address.
	ErrNoMemory = errors.New("no guest memory there")
	// ErrUnaligned: an atomic access or a page operation is not aligned.
	ErrUnaligned = errors.New("not aligned")
	// ErrOverlap: the range is in use.
	ErrOverlap = errors.New("range already in use")
	// ErrRange: an address, a size or an index is out of bounds.
	ErrRange = errors.New("out of range")
	// ErrNoSlots: all memory slots that KVM has for this VM are taken.
	ErrNoSlots = errors.New("no memory slot left")
	// ErrNotMapped: the page, slot or overlay to change is not there.
	ErrNotMapped = errors.New("not mapped")
	// ErrBroken: an earlier change failed and could not be undone.
	ErrBroken = errors.New("guest memory is in an inconsistent state after a failed rollback; stop the VM")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("guest memory is closed")
)
