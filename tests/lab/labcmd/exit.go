// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"xenvmm/tests/lab"
	"xenvmm/tests/lab/warm"
)

// Exit statuses that are not the program's own. A program that returns one of
// these numbers itself can be told apart by the message on standard error.
const (
	CodeTimeout       = 124 // --timeout passed
	CodeLabFailed     = 125 // the lab couldn't be set up, started or used
	CodeNotExecutable = 126 // the program can't be run: wrong format, not executable
	CodeNotFound      = 127 // the program doesn't exist
	CodeSignal        = 128 // plus the number of the signal that ended the program
	CodeHostCrashed   = 255 // the host's kernel crashed
)

// exitHelp is the part of the verbs' help about exit statuses; a test compares
// it with the constants.
const exitHelp = `The exit status is the program's own. What isn't the program's is explained on standard error:

  124    the time of --timeout passed and the program was stopped
  125    the lab failed: bad flags, no emulator, no kernel, the host does not
         boot, the emulator was killed
  126    the program can't be run: for another processor, libraries or
         interpreter missing, not executable
  127    there is no such program
  128+N  signal N ended the program, or this command before there was one
  255    the host's kernel crashed; the end of its console is shown

A Go test program returns 0 if it passes, 1 if it fails and 2 if it panics or exceeds -test.timeout.`

// errTimeout is the cause of a context that --timeout ended.
var errTimeout = errors.New("the time limit passed")

// isTimeout tells a time limit of ours from one of a shared host's server.
func isTimeout(err error) bool { return errors.Is(err, errTimeout) || errors.Is(err, warm.ErrTimeout) }

// consoleTail is how many lines of a failed host's console are shown.
const consoleTail = 60

// Code turns the result of an Exec into the command's exit status, and
// explains on w whatever isn't the program's own doing.
func Code(st lab.ExitStatus, err error, w io.Writer) int {
	var host *lab.HostError
	var start *lab.StartError
	var interrupted warm.Interrupted
	switch {
	case err == nil && st.Signal != 0:
		fmt.Fprintf(w, "lab: the program was ended by signal %d (%v)\n", int(st.Signal), st.Signal)
		return CodeSignal + int(st.Signal)
	case err == nil:
		return st.Code
	case errors.As(err, &interrupted):
		fmt.Fprintf(w, "lab: %v\n", interrupted)
		return CodeSignal + int(interrupted.Signal)
	case errors.As(err, &host):
		fmt.Fprintf(w, "%v\n%s", err, host.Tail(consoleTail))
		if host.EmulatorFault() {
			fmt.Fprintln(w, "lab: this crash is a known fault of the emulator, not of the program: run it again")
		}
		switch {
		case host.Crash != "":
			return CodeHostCrashed
		case isTimeout(err):
			return CodeTimeout
		}
		return CodeLabFailed
	case isTimeout(err):
		fmt.Fprintf(w, "lab: %v; the program was stopped\n", err)
		return CodeTimeout
	case errors.As(err, &start):
		fmt.Fprintln(w, err)
		switch syscall.Errno(start.Errno) {
		case syscall.ENOENT:
			return CodeNotFound
		case syscall.EACCES, syscall.ENOEXEC:
			return CodeNotExecutable
		}
		return CodeLabFailed
	}
	fmt.Fprintln(w, err)
	return CodeLabFailed
}
