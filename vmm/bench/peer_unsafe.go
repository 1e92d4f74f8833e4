// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// addressOf is where mapped memory begins. It is not Go's, so it does not move.
func addressOf(mapped []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(mapped))) }

// counterAt is the aligned word at off of mapped memory.
func counterAt(mapped []byte, off int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&mapped[off]))
}

// mapAgain maps the first bytes of a file over the place where they are mapped
// already: contents stay, translations go.
func mapAgain(mapped []byte, fd int, n int) error {
	_, err := unix.MmapPtr(fd, 0, unsafe.Pointer(unsafe.SliceData(mapped)), uintptr(n),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED)
	return err
}
