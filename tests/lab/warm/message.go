// SPDX-License-Identifier: Apache-2.0

package warm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"xenvmm/tests/lab"
	"xenvmm/tests/lab/wire"
)

// Request is a program to run. Paths are absolute: the server reads the files.
type Request struct {
	Path     string
	Args     []string
	Programs []string
	Env      []string
	Dir      string
	Files    []lab.File
	Dirs     []string
	Out      []lab.Output
	Stdin    bool          // stdin frames follow
	Timeout  time.Duration // 0: none
	Keep     time.Duration // how long to stay idle afterwards
	// EndIfKilled: don't stay, if nobody else is there, when the client is
	// killed or sends a signal.
	EndIfKilled bool
	Stop        bool // end instead
}

// newRequest makes c independent of this process.
func newRequest(c lab.Cmd, timeout, keep time.Duration, endIfKilled bool) (Request, error) {
	r := Request{Args: c.Args, Env: c.Env, Dir: c.Dir, Dirs: c.Dirs, Stdin: c.Stdin != nil, Timeout: timeout, Keep: keep, EndIfKilled: endIfKilled}
	var err error
	abs := func(p string) string {
		a, e := filepath.Abs(p)
		err = errors.Join(err, e)
		return a
	}
	r.Path = abs(c.Path)
	for _, p := range c.Programs {
		r.Programs = append(r.Programs, abs(p))
	}
	for _, f := range c.Files {
		if f.From != "" {
			f.From = abs(f.From)
		}
		r.Files = append(r.Files, f)
	}
	for _, o := range c.Out {
		o.To = abs(o.To)
		r.Out = append(r.Out, o)
	}
	return r, err
}

// result is a program's end: the arguments of the exit, or what went wrong.
type result struct {
	Status  lab.ExitStatus
	Kind    string // "", host, start, timeout, interrupted, other
	Message string
	Crash   string
	Console []string
	Errno   int
	Signal  syscall.Signal // of interrupted
	Timeout bool           // the host failed to end a program whose time was over
}

// Interrupted says that a signal ended the command before its program ran, or
// because the program wouldn't end.
type Interrupted struct{ Signal syscall.Signal }

func (e Interrupted) Error() string { return "interrupted: " + e.Signal.String() }

// ErrTimeout says that the program was stopped at its time limit.
var ErrTimeout = errors.New("the time limit passed")

func newResult(st lab.ExitStatus, err error) result {
	r := result{Status: st}
	var host *lab.HostError
	var start *lab.StartError
	var interrupted Interrupted
	switch {
	case err == nil:
		return r
	case errors.As(err, &host):
		r.Kind, r.Message, r.Crash, r.Console = "host", host.Doing, host.Crash, host.Console
		if host.Err != nil {
			r.Message += ": " + host.Err.Error()
		}
		r.Timeout = errors.Is(err, ErrTimeout)
		return r
	case errors.As(err, &start):
		r.Kind, r.Errno, r.Message = "start", start.Errno, start.Msg
		return r
	case errors.As(err, &interrupted):
		r.Kind, r.Signal = "interrupted", interrupted.Signal
	case errors.Is(err, ErrTimeout):
		r.Kind = "timeout"
	default:
		r.Kind = "other"
	}
	r.Message = err.Error()
	return r
}

// error turns the result back into what the server's Exec returned.
func (r result) error(path string) error {
	switch r.Kind {
	case "":
		return nil
	case "host":
		e := &lab.HostError{Doing: r.Message, Crash: r.Crash, Console: r.Console}
		if r.Timeout {
			e.Err = ErrTimeout
		}
		return e
	case "start":
		return &lab.StartError{Path: path, Errno: r.Errno, Msg: r.Message}
	case "timeout":
		return fmt.Errorf("%w", said{r.Message, ErrTimeout})
	case "interrupted":
		return Interrupted{r.Signal}
	}
	return errors.New(r.Message)
}

// said is an error with another's text and our own identity.
type said struct {
	text string
	is   error
}

func (s said) Error() string { return s.text }
func (s said) Unwrap() error { return s.is }

// limit bounds ctx by the request's timeout.
func (r Request) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if r.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, r.Timeout, fmt.Errorf("%w: %v", ErrTimeout, r.Timeout))
}

// frameWriter sends what is written as frames of one kind.
type frameWriter struct {
	conn *wire.Conn
	kind wire.Kind
}

func (w frameWriter) Write(p []byte) (int, error) {
	for sent := 0; sent < len(p); {
		n := min(len(p)-sent, wire.MaxData)
		if err := w.conn.Write(w.kind, 0, p[sent:sent+n]); err != nil {
			return sent, err
		}
		sent += n
	}
	return len(p), nil
}
