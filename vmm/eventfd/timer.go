// SPDX-License-Identifier: Apache-2.0

package eventfd

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Timer owns one timerfd on CLOCK_MONOTONIC. It becomes readable when it
// expires and is watched like an Event.
type Timer struct {
	fd atomic.Int64
}

// NewTimer makes a disarmed timer.
func NewTimer() (*Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create timerfd: %w", err)
	}
	t := &Timer{}
	t.fd.Store(int64(fd))
	return t, nil
}

// FD is the descriptor; -1 when closed.
func (t *Timer) FD() int { return int(t.fd.Load()) }

// Arm makes the timer expire once, d from now; a d that is not positive
// expires at once. It replaces an earlier deadline.
func (t *Timer) Arm(d time.Duration) error {
	if d <= 0 {
		d = 1 // zero would disarm
	}
	return t.set(unix.NsecToTimespec(d.Nanoseconds()))
}

// Disarm cancels a deadline. An expiration already counted stays readable.
func (t *Timer) Disarm() error { return t.set(unix.Timespec{}) }

func (t *Timer) set(v unix.Timespec) error {
	spec := unix.ItimerSpec{Value: v}
	if err := unix.TimerfdSettime(t.FD(), 0, &spec, nil); err != nil {
		return fmt.Errorf("set timerfd %d: %w", t.FD(), err)
	}
	return nil
}

// Close releases the descriptor; a second call returns os.ErrClosed.
func (t *Timer) Close() error {
	fd := int(t.fd.Swap(-1))
	if fd < 0 {
		return os.ErrClosed
	}
	return unix.Close(fd)
}
