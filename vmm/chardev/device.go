// SPDX-License-Identifier: Apache-2.0

package chardev

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/creack/pty"
)

// Device is an open connection. In is nil when there is no input.
type Device struct {
	In   io.Reader
	Out  io.Writer
	Path string // of the pseudo terminal a person may attach to

	closers []func() error
}

// Host is what stdio devices use; a test passes pipes.
type Host struct {
	Stdin  *os.File
	Stdout io.Writer
	// Quit is called when a person types Ctrl-a x on a terminal; may be nil.
	Quit func()
	// Terminal is set up when stdin is a terminal and a device reads it.
	Terminal *Terminal
}

// Open connects a device. wantInput is false for devices that have none, so
// that they leave standard input alone.
func Open(s Spec, h Host, wantInput bool) (*Device, error) {
	switch s.Kind {
	case Off, "":
		return &Device{Out: io.Discard}, nil
	case Stdio:
		d := &Device{Out: h.Stdout}
		if wantInput && h.Stdin != nil {
			return d, d.attachStdin(h)
		}
		return d, nil
	case Pty:
		return openPty()
	case File:
		flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
		if !s.Append {
			flags |= os.O_TRUNC
		}
		f, err := os.OpenFile(s.Path, flags, 0o644)
		if err != nil {
			return nil, fmt.Errorf("open device %s: %w", s, err)
		}
		return &Device{Out: f, closers: []func() error{f.Close}}, nil
	}
	return nil, fmt.Errorf("device kind %q is unknown; want %s", s.Kind, Syntax)
}

func openPty() (*Device, error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("open a pseudo terminal: %w", err)
	}
	// The slave stays open here, or the master would report an error whenever
	// nobody is attached. What nobody reads is dropped when the terminal is full.
	d := &Device{In: master, Path: slave.Name(), closers: []func() error{master.Close, slave.Close}}
	out, err := NewOutput(master)
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	out.drop, out.chunk = true, ptyChunk
	d.Out = out
	d.closers = append(d.closers, out.Close)
	if err := makeRaw(slave); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Device) attachStdin(h Host) error {
	in, err := newInterruptible(h.Stdin)
	if err != nil {
		return err
	}
	d.In = in
	d.closers = append(d.closers, in.Close)
	if h.Terminal == nil || !h.Terminal.is(h.Stdin) {
		return nil
	}
	if err := h.Terminal.raw(); err != nil {
		return errors.Join(err, d.Close())
	}
	d.closers = append(d.closers, h.Terminal.Restore)
	d.In = &escapeReader{interruptible: in, quit: h.Quit}
	return nil
}

// Close gives everything back. No read may be in progress: end one with the
// SetReadDeadline method that In of a stdio device has.
func (d *Device) Close() error {
	var errs []error
	for _, c := range d.closers {
		errs = append(errs, c())
	}
	d.closers = nil
	return errors.Join(errs...)
}
