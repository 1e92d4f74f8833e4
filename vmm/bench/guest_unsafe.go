// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"sync/atomic"
	"unsafe"

	"xenvmm/gpc"
)

// consumer is the guest's side of one port: it takes the upcall with plain
// stores, on the thread that delivered it, so that what is measured is delivery
// and not the traffic between two CPUs. The memory stays mapped for as long as
// the bench runs; the guards are not needed here.
type consumer struct {
	upcall  *uint8
	sel     *uint32
	pending *uint32
	bits    uint32 // of pending: those of this thread
	alone   bool   // nobody else's bits are in these words
}

// guestWord is the address of guest memory as a pointer.
func guestWord(d *domain, gpa uint64, off uint32) (unsafe.Pointer, error) {
	hva, err := d.mem.Resolve(gpa+uint64(off), 1)
	if err != nil {
		return nil, err
	}
	// The memory is not Go's, so it does not move.
	return *(*unsafe.Pointer)(unsafe.Pointer(&hva)), nil
}

// newConsumer is the guest's side of s; alone says that it has its words for
// itself.
func newConsumer(d *domain, s *gpc.Signal, alone bool) (c consumer, err error) {
	vcpu, _ := s.VCPU.GPA()
	shared, _ := s.Shared.GPA()
	for _, w := range []struct {
		to  func(unsafe.Pointer)
		gpa uint64
		off uint32
	}{
		{func(p unsafe.Pointer) { c.upcall = (*uint8)(p) }, vcpu, s.Upcall},
		{func(p unsafe.Pointer) { c.sel = (*uint32)(p) }, vcpu, s.Sel.Off},
		{func(p unsafe.Pointer) { c.pending = (*uint32)(p) }, shared, s.Pending.Off},
	} {
		p, err := guestWord(d, w.gpa, w.off)
		if err != nil {
			return c, err
		}
		w.to(p)
	}
	c.bits, c.alone = 1<<s.Pending.Bit, alone
	return c, nil
}

// take is the guest's upcall handler: the byte, then the selector, then the
// pending bits. In words that others write too the bits are taken atomically.
func (c *consumer) take() {
	*c.upcall = 0
	*c.sel = 0
	if c.alone {
		*c.pending = 0
	} else {
		atomic.AndUint32(c.pending, ^c.bits)
	}
}
