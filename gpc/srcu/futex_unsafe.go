// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"math"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Operations of futex(2), from linux/futex.h.
const (
	futexWaitPrivate = 0 | 128
	futexWakePrivate = 1 | 128
)

// futexSleep blocks the thread while *w is v, for at most limit (0: for ever).
// It may return early for any reason; the caller rechecks. The syscall is the
// kind that hands the scheduler's processor on: a raw one would keep it, and
// stop the garbage collector for as long as the sleep lasts.
func futexSleep(w *atomic.Uint32, v uint32, limit time.Duration) {
	var ts unix.Timespec
	var tp unsafe.Pointer
	if limit > 0 {
		ts = unix.NsecToTimespec(int64(limit))
		tp = unsafe.Pointer(&ts)
	}
	syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexWaitPrivate, uintptr(v), uintptr(tp), 0, 0)
}

// futexWake wakes every thread that sleeps on w. It does not block.
func futexWake(w *atomic.Uint32) {
	syscall.RawSyscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexWakePrivate, math.MaxInt32)
}

// futexWorks reports whether the system call is there and permitted.
func futexWorks() bool {
	var w atomic.Uint32
	_, _, e := syscall.RawSyscall(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&w)), futexWakePrivate, 1)
	return e == 0
}
