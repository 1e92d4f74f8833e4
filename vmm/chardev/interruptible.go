// SPDX-License-Identifier: Apache-2.0

package chardev

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// interruptible reads a file that Go cannot poll, such as a terminal or a file
// given as standard input, and lets another goroutine end a read that waits.
// It leaves the file's own flags alone: they are shared with other processes.
type interruptible struct {
	f    *os.File
	wake int // eventfd, readable while reads are to fail
	cut  atomic.Bool
}

func newInterruptible(f *os.File) (*interruptible, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("make %s interruptible: %w", f.Name(), err)
	}
	return &interruptible{f: f, wake: fd}, nil
}

// Read implements io.Reader.
func (r *interruptible) Read(p []byte) (int, error) {
	for {
		fds := []unix.PollFd{
			{Fd: int32(r.f.Fd()), Events: unix.POLLIN},
			{Fd: int32(r.wake), Events: unix.POLLIN},
		}
		if _, err := unix.Poll(fds, -1); err == unix.EINTR {
			continue
		} else if err != nil {
			return 0, fmt.Errorf("wait for input on %s: %w", r.f.Name(), err)
		}
		if r.cut.Load() {
			return 0, os.ErrDeadlineExceeded
		}
		if fds[0].Revents != 0 {
			return r.f.Read(p)
		}
	}
}

// SetReadDeadline makes reads fail from now on if t is not in the future, and
// lets them go on if t is zero. Other times are not supported.
func (r *interruptible) SetReadDeadline(t time.Time) error {
	var b [8]byte
	if t.IsZero() {
		r.cut.Store(false)
		_, _ = unix.Read(r.wake, b[:]) // nothing to read is fine
		return nil
	}
	if time.Until(t) > 0 {
		return os.ErrNoDeadline
	}
	r.cut.Store(true)
	b[0] = 1
	_, err := unix.Write(r.wake, b[:])
	return err
}

// Close gives up what belongs to the reader, not the file. No read may be in
// progress.
func (r *interruptible) Close() error { return unix.Close(r.wake) }
