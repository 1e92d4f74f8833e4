// SPDX-License-Identifier: Apache-2.0

package rseq

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Signature precedes every abort address. It is glibc's for x86 (sys/rseq.h),
// because a thread has one signature for all who share its Area.
const Signature = 0x53053053

// Of struct rseq in linux/rseq.h.
const (
	areaSize       = 32 // the size that every kernel knows
	cpuOffset      = 4  // of cpu_id
	sequenceOffset = 8  // of rseq_cs
)

const flagUnregister = 1

// register is rseq(2) for the calling thread. Without flags EBUSY says that
// exactly this area is registered, with this length and Signature.
func register(area uintptr, size, flags uint32) error {
	// Raw: it does not block.
	if _, _, e := syscall.RawSyscall6(unix.SYS_RSEQ, area, uintptr(size), uintptr(flags), Signature, 0, 0); e != 0 {
		return e
	}
	return nil
}

func membarrier(command uintptr) error {
	// Not raw: it may wait for other processors, and the scheduler should have
	// this one's work meanwhile.
	if _, _, e := syscall.Syscall(unix.SYS_MEMBARRIER, command, 0, 0); e != 0 {
		return e
	}
	return nil
}

func membarrierCommands() (mask uintptr, err error) {
	mask, _, e := syscall.RawSyscall(unix.SYS_MEMBARRIER, membarrierQuery, 0, 0)
	if e != 0 {
		return 0, e
	}
	return mask, nil
}

// threadPointer is the calling thread's FS base, from which its thread-local
// storage is counted.
func threadPointer() (uintptr, error) {
	const getFS = 0x1003 // ARCH_GET_FS in asm/prctl.h
	var fs uintptr
	if _, _, e := syscall.RawSyscall(unix.SYS_ARCH_PRCTL, getFS, uintptr(unsafe.Pointer(&fs)), 0); e != 0 {
		return 0, e
	}
	return fs, nil
}

// LoadCPU reads a word of Area.CPU that is ours.
func LoadCPU(at uintptr) int32 { return atomic.LoadInt32((*int32)(pointer(at))) }

// PeekCPU reads one that may have gone.
func PeekCPU(at uintptr) (cpu int32, ok bool) {
	local := unix.Iovec{Base: (*byte)(unsafe.Pointer(&cpu)), Len: uint64(unsafe.Sizeof(cpu))}
	remote := unix.RemoteIovec{Base: at, Len: int(unsafe.Sizeof(cpu))}
	// Raw: it does not block for long, the page is one that a thread just used.
	n, _, e := syscall.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(os.Getpid()),
		uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1, 0)
	return cpu, e == 0 && n == unsafe.Sizeof(cpu)
}

// CurrentCPU is the number of a processor that the caller has run on during the
// call, or -1.
func CurrentCPU() int32 {
	var cpu uint32
	if _, _, e := syscall.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); e != 0 {
		return -1
	}
	return int32(cpu)
}

// loadWord reads a word that is known to be mapped.
func loadWord(at uintptr) uint64 { return *(*uint64)(pointer(at)) }

// codeAt is the machine code at pc, size bytes of it.
func codeAt(pc uintptr, size int) []byte { return unsafe.Slice((*byte)(pointer(pc)), size) }

// pointer makes a pointer of an address outside the Go heap.
func pointer(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

const (
	areaStride = 128 // two cache lines: each is written by its own thread all the time
	blockSize  = 4096
)

// newAreas returns the addresses of fresh areas. Their memory is never unmapped
// and not the collector's, since the kernel writes to areas whenever it likes.
func newAreas() ([]uintptr, error) {
	b, err := unix.Mmap(-1, 0, blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, err
	}
	base := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	var areas []uintptr
	for off := uintptr(0); off < blockSize; off += areaStride {
		areas = append(areas, base+off)
	}
	return areas, nil
}
