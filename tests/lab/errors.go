// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"xenvmm/tests/lab/elfdeps"
)

// ErrNotProgram says that a file can't be run there: neither a script nor a
// program for this processor.
var ErrNotProgram = elfdeps.ErrNotProgram

// HostError says that the host failed, not the program: whatever ran on it has
// proved nothing.
type HostError struct {
	Doing   string
	Crash   string   // the console line that tells of a kernel crash, or ""
	Console []string // the console's last lines
	Err     error
}

func (e *HostError) Error() string {
	msg := "lab host: " + e.Doing
	if e.Crash != "" {
		msg += ": kernel crash: " + strings.TrimSpace(e.Crash)
	}
	if e.Err != nil {
		msg = fmt.Sprintf("%s: %v", msg, e.Err)
	}
	return msg
}

func (e *HostError) Unwrap() error { return e.Err }

// EmulatorFault tells the one crash that is known to be the emulator's own: an
// emulated CPU that executes an instruction another is just patching.
func (e *HostError) EmulatorFault() bool { return HalfPatched(e.Crash) }

// HalfPatched tells whether what a kernel printed shows that it met the breakpoint
// by which kernels replace an instruction on a running machine. No processor sees
// it once every CPU has been made to synchronise, and the kernel waits for that;
// the emulator's does now and then, in a host as in that host's guests.
func HalfPatched(console string) bool { return strings.Contains(console, "Oops: int3") }

// Tail returns up to n console lines, indented, for messages: from the crash
// on where there was one, else the last.
func (e *HostError) Tail(n int) string {
	lines := e.Console[max(0, len(e.Console)-n):]
	for i, l := range e.Console {
		if e.Crash != "" && l == e.Crash {
			lines = e.Console[max(0, i-2):min(len(e.Console), i+n-2)]
			break
		}
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("  | " + l + "\n")
	}
	return b.String()
}

// StartError says that a program can't be started in the host. Errno is the
// reason as the kernel gives it: ENOENT if there is no such program, ENOEXEC
// if it can't be run there.
type StartError struct {
	Path  string
	Errno int
	Msg   string
	Err   error // what lies behind it; may be nil
}

func (e *StartError) Error() string { return "lab: " + e.Msg }
func (e *StartError) Unwrap() error { return e.Err }

// cannotStart is for what is found out before the host is asked.
func cannotStart(program string, err error) error {
	e := &StartError{Path: program, Errno: int(unix.ENOEXEC), Err: err, Msg: fmt.Sprintf("%s can't be run: %v", program, err)}
	var no unix.Errno
	switch {
	case errors.As(err, &no) && no == unix.ENOENT && !errors.Is(err, elfdeps.ErrLibrary):
		e.Errno, e.Msg = int(no), program+": no such program"
	case errors.As(err, &no):
		e.Errno = int(no)
	case errors.Is(err, elfdeps.ErrLibrary):
		e.Msg += "; a static program needs nothing (Go: CGO_ENABLED=0)"
	}
	return e
}
