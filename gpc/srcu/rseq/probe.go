// SPDX-License-Identifier: Apache-2.0

package rseq

import (
	"fmt"
	"runtime"
	"syscall"
)

// An Error says why there are no restartable sequences to be had, and what may be
// done about it.
type Error struct {
	Call   string // the system call that failed or cannot do it
	Cause  error
	Remedy string
}

func (e *Error) Error() string {
	return fmt.Sprintf("no restartable sequences: %s: %v: %s", e.Call, e.Cause, e.Remedy)
}

func (e *Error) Unwrap() error { return e.Cause }

const permit = "permit the system call in seccomp filters"

// Probe reports whether the kernel has both system calls, with an *Error if not.
// It changes nothing. That a thread can really attach only Attach knows.
func Probe() error {
	// No area, no length: what the kernel finds wrong with that it says after it
	// has found the system call.
	if err := register(0, 0, 0); err != nil && err != syscall.EINVAL {
		return &Error{"rseq(2)", err, "use a kernel with CONFIG_RSEQ, and " + permit}
	}
	have, err := membarrierCommands()
	if err != nil {
		return &Error{"membarrier(2)", err, "use a kernel with CONFIG_MEMBARRIER, and " + permit}
	}
	if have&membarrierRseq == 0 || have&membarrierRegisterRseq == 0 {
		return &Error{"membarrier(2)", fmt.Errorf("of its commands there are %#x only", have), "use Linux 5.10 or newer"}
	}
	return nil
}

// Try attaches a thread, fences and lets go of it again, and so finds out what
// Probe cannot. Its error is an *Error, too.
func Try() error {
	if err := Probe(); err != nil {
		return err
	}
	if err := Prepare(); err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	a, err := Attach()
	if err != nil {
		return err
	}
	defer a.Detach()
	if err := Fence(); err != nil {
		return &Error{"membarrier(PRIVATE_EXPEDITED_RSEQ)", err, permit}
	}
	return nil
}
