// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The conversion from pointer to uintptr must stand in the argument list of
// unix.Syscall itself. There the compiler keeps the object alive, and because
// the Syscall functions never grow the stack an argument on the stack cannot
// move before the kernel has read it. Passing a uintptr through an ordinary
// function (as gokvm's Ioctl does) gives up both.

// ioctl does one ioctl with an integer argument.
func ioctl(fd int, req, arg uintptr) (int, unix.Errno) {
	r, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req, arg)
	return int(r), errno
}

// ioctlWhole is ioctl for every request but KVM_RUN: one that a signal kept from
// starting (KVM_CREATE_VM gives up on one while it registers its MMU notifier,
// and the Go runtime sends signals to its own threads) is made again.
func ioctlWhole(fd int, req, arg uintptr) (int, unix.Errno) {
	return untilWhole(func() (int, unix.Errno) { return ioctl(fd, req, arg) })
}

// untilWhole repeats do while a signal interrupts it.
func untilWhole(do func() (int, unix.Errno)) (int, unix.Errno) {
	for {
		r, errno := do()
		if errno != unix.EINTR {
			return r, errno
		}
	}
}

// ioctlPointer does one ioctl whose argument is the address of p; like
// ioctlWhole it makes an interrupted one again.
func ioctlPointer(fd int, req uintptr, p unsafe.Pointer) (int, unix.Errno) {
	for {
		r, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req, uintptr(p))
		if errno != unix.EINTR {
			return int(r), errno
		}
	}
}

// ioctlMSI keeps m on the caller's stack, so that SignalMSI does not allocate.
func ioctlMSI(fd int, m *msi) (int, unix.Errno) {
	return ioctlPointer(fd, reqSignalMSI, unsafe.Pointer(m))
}

// callStruct runs one ioctl on h whose argument is *p. T must be the C struct's
// layout; structs that hold addresses of Go memory need that memory pinned.
func callStruct[T any](h *handle, op string, req uintptr, p *T) (int, error) {
	if !h.acquire() {
		return -1, fmt.Errorf("%s: %s: %w", h.what, op, ErrClosed)
	}
	r, errno := ioctlPointer(h.fd, req, unsafe.Pointer(p))
	h.release()
	if errno != 0 {
		return -1, h.failed(op, errno)
	}
	return r, nil
}

// callBytes runs one ioctl on h whose argument is a buffer: a header followed
// by a variable number of entries. An empty buffer is refused here.
func callBytes(h *handle, op string, req uintptr, b []byte) (int, error) {
	if len(b) == 0 {
		return -1, h.failed(op, unix.EINVAL)
	}
	return callStruct(h, op, req, &b[0])
}

// addressOf is the address of a pinned object, for structs that carry
// addresses as integers. The caller pins p for as long as the address is used.
func addressOf[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }
