// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"xenvmm/vmm"
)

// Exit codes. docs/exit-codes.md tells users about them; a test compares the
// two.
const (
	exitOK          = 0  // the guest powered off; a guest test passed or was skipped
	exitError       = 1  // a call of the host's failed, or a bug of this program
	exitUsage       = 2  // bad command line, configuration or kernel file
	exitHost        = 3  // the host lacks something
	exitTestFailed  = 10 // a guest test failed
	exitCrash       = 11 // the guest says it has crashed
	exitTripleFault = 12 // a vCPU met a fault it could not report to the guest
	exitReboot      = 13 // the guest asked for a reboot
	exitWatchdog    = 14 // a guest watchdog ran out
	exitStuck       = 15 // KVM cannot run the guest any further
	exitEventsLost  = 16 // the storm's counts do not add up
	exitMissed      = 17 // a benchmark missed a target
	exitTimeout     = 124
	exitSignal      = 128 // plus the signal's number
)

// exitCode ends the program with a code and no further message.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// usageError is a mistake on the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() + "; see vmm --help" }
func (e *usageError) Unwrap() error { return e.err }

// signalled is the cause of a context that a signal ended.
type signalled struct{ sig os.Signal }

func (s signalled) Error() string { return "signal: " + s.sig.String() }

// codeOf is the exit code for an error.
func codeOf(err error) int {
	var (
		config *vmm.ConfigError
		host   *vmm.HostError
		usage  *usageError
		sig    signalled
	)
	switch {
	case errors.As(err, &sig):
		return signalCode(sig)
	case errors.As(err, &usage), errors.As(err, &config):
		return exitUsage
	case errors.As(err, &host):
		return exitHost
	}
	return exitError
}

func signalCode(s signalled) int {
	if n, ok := s.sig.(syscall.Signal); ok {
		return exitSignal + int(n)
	}
	return exitError
}

// codeOfStatus is the exit code for the way a guest ended.
func codeOfStatus(s vmm.Status) int {
	switch s.Ending {
	case vmm.Poweroff:
		if s.Verdict != nil && s.Verdict.Result == vmm.Fail {
			return exitTestFailed
		}
		return exitOK
	case vmm.Crash:
		if s.Verdict != nil && s.Verdict.Result == vmm.Fail {
			return exitTestFailed
		}
		return exitCrash
	case vmm.Reboot:
		return exitReboot
	case vmm.Watchdog:
		return exitWatchdog
	case vmm.TripleFault:
		return exitTripleFault
	case vmm.Stuck:
		return exitStuck
	case vmm.Timeout:
		return exitTimeout
	}
	return exitError
}

// oneLine is an error's text without line breaks.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
