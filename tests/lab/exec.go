// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"xenvmm/tests/lab/wire"
)

// Cmd is a program to run in a host.
type Cmd struct {
	// Path is a program file here; it gets the same absolute path there. Its
	// ELF interpreter and libraries come along by themselves, or the interpreter
	// of a script with its own.
	Path     string
	Args     []string // without argv[0]
	Programs []string // more programs, for the first to start; as Path
	Env      []string // all of the environment; PATH and HOME are added if missing
	Dir      string   // working directory there, made if missing; default "/tmp"
	// Stdin may be nil. Stdout and Stderr, if nil, discard; they are called from
	// one goroutine.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Files          []File
	Dirs           []string // directories to make there
	Out            []Output
	// Terminal, if not nil, makes the program's standard streams a terminal: its
	// output goes to Stdout, control characters in Stdin do what they do on a
	// terminal, and the end of Stdin means nothing.
	Terminal *Terminal
	// Signals are passed on to the program while it runs; SIGKILL kills all it
	// started.
	Signals <-chan os.Signal
	// Grace is how long the program has to write its stack traces after SIGQUIT,
	// when ctx ends, before it is killed; default 5 s.
	Grace time.Duration
}

// Terminal is a program's terminal.
type Terminal struct {
	Size   Size
	Resize <-chan Size // new sizes, which the program is told of; may be nil
}

func (t *Terminal) wire() *wire.Terminal {
	if t == nil {
		return nil
	}
	return &wire.Terminal{Rows: t.Size.Rows, Cols: t.Size.Cols}
}

// Size is a terminal's size in characters.
type Size struct{ Rows, Cols uint16 }

// File is a file or a directory tree for the program.
type File struct {
	From string      // path here; empty: Data is the content
	Data []byte      // content, where From is empty
	To   string      // absolute path there
	Mode os.FileMode // permission bits; 0: those of From, or 0644
}

// Output is a file or a directory brought out when the program has ended,
// however it ended. A missing one isn't an error.
type Output struct {
	From string // absolute path there
	To   string // path here, made if missing
}

// ExitStatus is how a program ended.
type ExitStatus struct {
	Code   int            // exit code, or 128 + Signal
	Signal syscall.Signal // nonzero if a signal ended it
	Wall   time.Duration  // by the host's clock
	User   time.Duration
	System time.Duration
}

// Success tells whether the program returned 0.
func (s ExitStatus) Success() bool { return s.Code == 0 }

func (s ExitStatus) String() string {
	if s.Signal != 0 {
		return "signal " + s.Signal.String()
	}
	return fmt.Sprintf("exit status %d", s.Code)
}

// Exec runs a program to its end. The error is nil whenever the program ran
// and ended by itself, with whatever status. When ctx ends first, the program
// is killed and the error is ctx's cause, beside the status it ended with. A
// *StartError says that the program can't be started there, a *HostError that
// the host failed; if it didn't even end the program that ctx had it kill, it
// is ended itself, and the *HostError wraps ctx's cause.
func (h *Host) Exec(ctx context.Context, c Cmd) (ExitStatus, error) {
	job, err := h.prepare(ctx, &c)
	if err != nil {
		return ExitStatus{}, err
	}
	defer h.release(job.id)
	s := newStream(job.id, h.conn)
	h.mu.Lock()
	h.streams[job.id] = s
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.streams, job.id)
		h.mu.Unlock()
	}()
	r, err := h.call(ctx, wire.Call{Exec: &job.exec})
	if err != nil {
		return ExitStatus{}, err
	}
	if r.Err != "" {
		return ExitStatus{}, &StartError{Path: c.Path, Errno: r.Errno, Msg: r.Err}
	}
	go s.copyIn(c.Stdin)
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		s.copyOut(c.Stdout, c.Stderr)
	}()
	defer func() {
		s.end()
		<-copied // no write to the caller's writers after the return
	}()
	x, err := h.supervise(ctx, &c, s)
	if err != nil && errors.As(err, new(*HostError)) {
		return ExitStatus{}, err
	}
	st := ExitStatus{Code: x.Code, Signal: syscall.Signal(x.Signal), Wall: time.Duration(x.Wall),
		User: time.Duration(x.User), System: time.Duration(x.Sys)}
	for _, o := range c.Out {
		if e := h.collect(job.id, o); e != nil && err == nil {
			err = e
		}
	}
	return st, err
}

// answerLimit is how long a host may take over what takes milliseconds, before
// it is taken for hung.
const answerLimit = 30 * time.Second

// supervise waits for the exit and passes signals on.
func (h *Host) supervise(ctx context.Context, c *Cmd, s *stream) (wire.Exit, error) {
	send := func(sig syscall.Signal) { _ = h.conn.WriteUint32(wire.KindSignal, s.id, uint32(sig)) }
	grace := c.Grace
	if grace == 0 {
		grace = 5 * time.Second
	}
	var cause error
	done, kill, hung := ctx.Done(), (<-chan time.Time)(nil), (<-chan time.Time)(nil)
	var resize <-chan Size
	if c.Terminal != nil {
		resize = c.Terminal.Resize
	}
	for {
		select {
		case x := <-s.exit:
			return x, cause
		case <-h.dead:
			return wire.Exit{}, h.failure("run "+filepath.Base(c.Path), nil)
		case sig := <-c.Signals:
			if n, ok := sig.(syscall.Signal); ok {
				send(n)
			}
		case size := <-resize:
			_ = h.conn.WriteUint32(wire.KindResize, s.id, uint32(size.Rows)<<16|uint32(size.Cols))
		case <-done:
			cause, done = context.Cause(ctx), nil
			send(unix.SIGQUIT)
			kill = time.After(grace)
		case <-kill:
			send(unix.SIGKILL)
			hung = time.After(answerLimit)
		case <-hung:
			h.proc.kill()
			<-h.dead
			return wire.Exit{}, h.failure("run "+filepath.Base(c.Path), fmt.Errorf("%w; the host did not answer any more and was ended", cause))
		}
	}
}

// release forgets a program there. It doesn't wait for the answer: calls are
// served in order, so the next one comes after it.
func (h *Host) release(id uint32) {
	_ = h.conn.WriteJSON(wire.KindCall, 0, wire.Call{Release: &wire.Release{Root: id}})
}
