// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hva is a host virtual address of mapped memory. It is a pointer type, so that
// words behind it are reached without converting integers to pointers.
type hva = unsafe.Pointer

// backing is a place in a memfd.
type backing struct {
	fd  int
	off uint64
}

// host is what the package asks of the host's memory management. Tests put
// failing and counting ones in its place.
type host interface {
	// mapNew maps n bytes of b at an address of the kernel's choice.
	mapNew(b backing, n uint64) (hva, error)
	// mapOver replaces the mapping of [at, at+n) by n bytes of b, atomically
	// for everyone who uses the range.
	mapOver(at hva, b backing, n uint64) error
	unmap(at hva, n uint64) error
	// punch frees n bytes of b; they read as zero afterwards.
	punch(b backing, n uint64) error
}

const (
	protRW  = unix.PROT_READ | unix.PROT_WRITE
	mapping = unix.MAP_SHARED | unix.MAP_NORESERVE
)

type linux struct{}

func (linux) mapNew(b backing, n uint64) (hva, error) {
	return unix.MmapPtr(b.fd, int64(b.off), nil, uintptr(n), protRW, mapping)
}

func (linux) mapOver(at hva, b backing, n uint64) error {
	_, err := unix.MmapPtr(b.fd, int64(b.off), at, uintptr(n), protRW, mapping|unix.MAP_FIXED)
	return err
}

func (linux) unmap(at hva, n uint64) error { return unix.MunmapPtr(at, uintptr(n)) }

func (linux) punch(b backing, n uint64) error {
	const mode = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	return unix.Fallocate(b.fd, mode, int64(b.off), int64(n))
}

// newFile makes a sparse, close-on-exec memfd of n bytes.
func newFile(name string, n uint64) (int, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("memfd_create %q: %w", name, err)
	}
	if err := unix.Ftruncate(fd, int64(n)); err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("size memfd %q to %s: %w", name, bytes(n), err)
	}
	return fd, nil
}

// at is the host address of a byte of a mapping.
func at(base hva, off uint64) hva { return unsafe.Add(base, off) }

func address(p hva) uintptr { return uintptr(p) }

// window is n bytes of mapped memory as a slice, for copying within a section.
func window(base hva, off, n uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(base, off)), n)
}

// closeAfter closes fd on a failure path and passes the failure on.
func closeAfter(fd int, err error) error {
	_ = unix.Close(fd)
	return err
}
