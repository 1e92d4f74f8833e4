// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"xenvmm/tests/lab"
)

// terminal connects the terminal that this command was started on with one in
// a host: every key goes there, and the size follows.
type terminal struct {
	file   *os.File
	escape func() // called for ~. at the beginning of a line
}

// attach puts the terminal into raw mode and gives cmd a terminal. detach puts
// everything back.
func (t *terminal) attach(cmd *lab.Cmd) (detach func(), err error) {
	fd := int(t.file.Fd())
	size, err := terminalSize(fd)
	if err != nil {
		return nil, err
	}
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, fmt.Errorf("raw mode: %w", err)
	}
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, unix.SIGWINCH)
	sizes, over := make(chan lab.Size), make(chan struct{})
	go func() {
		for {
			select {
			case <-changed:
			case <-over:
				return
			}
			if size, err := terminalSize(fd); err == nil {
				select {
				case sizes <- size:
				case <-over:
					return
				}
			}
		}
	}()
	cmd.Terminal = &lab.Terminal{Size: size, Resize: sizes}
	cmd.Stdin = &escapeReader{r: t.file, found: t.escape}
	return func() {
		signal.Stop(changed)
		close(over)
		_ = term.Restore(fd, before)
	}, nil
}

func terminalSize(fd int) (lab.Size, error) {
	w, err := unix.IoctlGetWinsize(fd, unix.TIOCGWINSZ)
	if err != nil {
		return lab.Size{}, fmt.Errorf("terminal size: %w", err)
	}
	return lab.Size{Rows: w.Row, Cols: w.Col}, nil
}

// errEscaped ends the input.
var errEscaped = errors.New("~. was typed")

// escapeReader looks for ~. at the beginning of a line, as ssh does. ~~ is ~,
// and ~ before anything else is itself.
type escapeReader struct {
	r     io.Reader
	found func()
	state escapeState
}

type escapeState int

const (
	lineStart escapeState = iota // the zero value: nothing was typed yet
	inLine
	afterTilde // at the beginning of a line, and not passed on yet
)

// Read implements io.Reader. p has room for two bytes at least.
func (e *escapeReader) Read(p []byte) (int, error) {
	buf := make([]byte, len(p)/2) // a ~ kept back may have to go before each byte
	for {
		n, err := e.r.Read(buf)
		out := p[:0]
		for _, b := range buf[:n] {
			if e.state == afterTilde {
				if b == '.' {
					e.found()
					return 0, errEscaped
				}
				e.state = inLine
				if b == '~' {
					out = append(out, '~')
					continue
				}
				out = append(out, '~')
			} else if b == '~' && e.state == lineStart {
				e.state = afterTilde
				continue
			}
			out = append(out, b)
			e.state = inLine
			if b == '\r' || b == '\n' {
				e.state = lineStart
			}
		}
		if len(out) > 0 || err != nil {
			return len(out), err
		}
	}
}
