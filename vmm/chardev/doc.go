// SPDX-License-Identifier: Apache-2.0

// Package chardev connects a guest's character devices (PV console, serial
// port, debug port) to something on the host: this process's terminal, a pseudo
// terminal, a file, or nothing.
//
// A device is described by text, as on the command line:
//
//	off                     nothing read, output dropped
//	stdio                   standard input and output
//	pty                     a new pseudo terminal; its path is in Device.Path
//	file=PATH[,append]      output to a file, which is truncated unless appended to
//
// # The terminal
//
// stdio puts a terminal into raw mode, so that the guest gets every key, and
// Close puts it back; a process that may end on other paths calls
// Terminal.Restore there too. Keys typed as Ctrl-a x end the machine, Ctrl-a
// Ctrl-a sends one Ctrl-a. Input that is not a terminal is passed on unchanged
// and its end is just the end of input.
//
// # Output that nobody takes
//
// A guest waits while standard output takes nothing, as any program does; an
// Output can be cut, so that the machine ends all the same. A pseudo terminal
// that is full because nobody is attached drops what comes.
//
// Files are opened with O_APPEND in both modes, so that a log rotation that
// truncates the file leaves no hole of zero bytes.
package chardev
