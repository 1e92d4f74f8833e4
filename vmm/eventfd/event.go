// SPDX-License-Identifier: Apache-2.0

package eventfd

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Event owns one eventfd: a 64-bit counter in the kernel that writers add to
// and a reader takes back to zero (eventfd(2)).
// All methods may be called from any goroutine, except that Close must not
// overlap with the others.
type Event struct {
	fd atomic.Int64 // -1 after Close
}

// New makes a non-blocking, close-on-exec eventfd with counter zero.
func New() (*Event, error) {
	fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create eventfd: %w", err)
	}
	e := &Event{}
	e.fd.Store(int64(fd))
	return e, nil
}

// FD is the descriptor, for KVM_IRQFD, VFIO or another process; -1 when closed.
func (e *Event) FD() int { return int(e.fd.Load()) }

// Signal adds one to the counter. A counter at its maximum is already
// readable, so that case is success.
func (e *Event) Signal() error {
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], 1)
	for {
		_, err := unix.Write(e.FD(), b[:])
		switch err {
		case nil, unix.EAGAIN:
			return nil
		case unix.EINTR:
			continue
		}
		return fmt.Errorf("write eventfd %d: %w", e.FD(), err)
	}
}

// Close releases the descriptor; a second call returns os.ErrClosed.
func (e *Event) Close() error {
	fd := int(e.fd.Swap(-1))
	if fd < 0 {
		return os.ErrClosed
	}
	return unix.Close(fd)
}

// drain reads the counter of fd into buf and returns it; zero if there was
// nothing to read.
func drain(fd int, buf *[8]byte) uint64 {
	for {
		n, err := unix.Read(fd, buf[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n != len(buf) {
			return 0
		}
		return binary.NativeEndian.Uint64(buf[:])
	}
}
