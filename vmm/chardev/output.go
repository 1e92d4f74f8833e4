// SPDX-License-Identifier: Apache-2.0

package chardev

import (
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Output writes to a file that may not take bytes for a long time: a pipe that
// nobody reads, a terminal that is stopped. A guest's output may have to wait
// for it, but the end of the machine must not: Cut makes writes that wait, and
// all later ones, drop what they have.
type Output struct {
	f    *os.File
	wake int // eventfd, readable once cut
	cut  atomic.Bool
	drop bool // never wait: what does not fit is dropped

	chunk int // bytes written at a time
}

// NewOutput makes one for f, which stays the caller's.
func NewOutput(f *os.File) (*Output, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("make %s interruptible: %w", f.Name(), err)
	}
	return &Output{f: f, wake: fd, chunk: pipeChunk}, nil
}

// Bytes that a file takes without waiting when poll says it is writable.
const (
	pipeChunk = 4096 // PIPE_BUF, pipe(7)
	ptyChunk  = 1    // a pseudo terminal promises no more room than this
)

// Write implements io.Writer. What is dropped counts as written.
func (o *Output) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		ready, err := o.ready()
		if err != nil {
			return done, err
		}
		if !ready {
			return len(p), nil
		}
		n, err := o.f.Write(p[done:min(len(p), done+o.chunk)])
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// ready waits until the file takes bytes; false means that they are to be
// dropped.
func (o *Output) ready() (bool, error) {
	timeout := -1
	if o.drop {
		timeout = 0
	}
	for {
		if o.cut.Load() {
			return false, nil
		}
		fds := []unix.PollFd{
			{Fd: int32(o.f.Fd()), Events: unix.POLLOUT},
			{Fd: int32(o.wake), Events: unix.POLLIN},
		}
		n, err := unix.Poll(fds, timeout)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return false, fmt.Errorf("wait for output on %s: %w", o.f.Name(), err)
		case n == 0:
			return false, nil
		case fds[0].Revents != 0: // an error too: the write will tell
			return true, nil
		}
	}
}

// Cut makes writes drop from now on. It may be called from any goroutine.
func (o *Output) Cut() {
	o.cut.Store(true)
	b := [8]byte{0: 1}
	_, _ = unix.Write(o.wake, b[:]) // a full counter wakes as well
}

// Close gives up what belongs to the Output, not the file. No write may be in
// progress.
func (o *Output) Close() error { return unix.Close(o.wake) }
