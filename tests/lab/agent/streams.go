// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"xenvmm/tests/lab/wire"
)

// streams are both ends of a program's standard streams: three pipes, or one
// terminal.
type streams struct {
	child    [3]*os.File // the program's ends; a terminal three times
	in       io.WriteCloser
	out      map[wire.Kind]*os.File
	terminal *os.File // our end of the terminal, or nil
}

func openStreams(root string, t *wire.Terminal) (*streams, error) {
	if t != nil {
		return openTerminal(filepath.Join(root, "dev/pts"), t)
	}
	return openPipes()
}

func openPipes() (*streams, error) {
	s := &streams{out: map[wire.Kind]*os.File{}}
	for i, kind := range []wire.Kind{wire.KindStdin, wire.KindStdout, wire.KindStderr} {
		r, w, err := os.Pipe()
		if err != nil {
			s.closeChild()
			s.close()
			return nil, err
		}
		if i == 0 {
			s.child[i], s.in = r, w
		} else {
			s.child[i], s.out[kind] = w, r
		}
	}
	return s, nil
}

// openTerminal makes a terminal in the devpts mounted at dir: that of the
// program's root, so that it has a name there.
func openTerminal(dir string, size *wire.Terminal) (*streams, error) {
	ours, err := os.OpenFile(filepath.Join(dir, "ptmx"), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	theirs, err := otherEnd(ours, dir)
	if err == nil {
		err = setSize(ours, size.Rows, size.Cols)
	}
	if err != nil {
		if theirs != nil {
			_ = theirs.Close()
		}
		return nil, errors.Join(fmt.Errorf("terminal: %w", err), ours.Close())
	}
	return &streams{
		child: [3]*os.File{theirs, theirs, theirs}, in: terminalInput{ours},
		out: map[wire.Kind]*os.File{wire.KindStdout: ours}, terminal: ours,
	}, nil
}

func otherEnd(ours *os.File, dir string) (*os.File, error) {
	var n int
	err := control(ours, func(fd int) (err error) {
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, strconv.Itoa(n)), os.O_RDWR|unix.O_NOCTTY, 0)
}

func setSize(terminal *os.File, rows, cols uint16) error {
	return control(terminal, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	})
}

// control calls f with the descriptor, which stays open meanwhile and
// non-blocking, so that closing the file still ends reads and writes.
func control(file *os.File, f func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// terminalInput writes to a terminal whose output is read elsewhere: whoever
// reads it closes it.
type terminalInput struct{ *os.File }

func (terminalInput) Close() error { return nil }

func (s *streams) childFDs() []uintptr {
	var fds []uintptr
	for _, f := range s.child {
		fds = append(fds, f.Fd())
	}
	return fds
}

// closeChild closes the program's ends, once it has them.
func (s *streams) closeChild() {
	for i, f := range s.child {
		if f != nil && (i == 0 || f != s.child[0]) {
			_ = f.Close()
		}
	}
}

// close closes our ends, for a program that didn't start.
func (s *streams) close() {
	if s.in != nil {
		_ = s.in.Close()
	}
	for _, f := range s.out {
		_ = f.Close()
	}
}
