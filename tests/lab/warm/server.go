// SPDX-License-Identifier: Apache-2.0

package warm

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"xenvmm/tests/lab"
	"xenvmm/tests/lab/wire"
)

// Host is what a server needs of a lab.Host.
type Host interface {
	Exec(ctx context.Context, c lab.Cmd) (lab.ExitStatus, error)
	Done() <-chan struct{}
	Close() error
}

// server owns a host and runs the clients' programs on it.
type server struct {
	listener net.Listener
	turn     chan struct{} // holds one token: one program at a time
	finished chan struct{} // closed when the host has ended
	booted   chan struct{} // closed when host and bootErr are valid
	host     Host
	bootErr  error

	mu      sync.Mutex
	clients int
	idle    *time.Timer
	keep    time.Duration
	over    bool // the listener is closed
}

// firstClient is how long a new server waits at least: its client is about to
// connect.
const firstClient = 10 * time.Second

// Serve boots a host and serves clients on l until ctx ends, the host ends or
// nobody has come for keep. It closes l. The error is why the boot failed.
func Serve(ctx context.Context, l net.Listener, boot func(context.Context) (Host, error), keep time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{listener: l, turn: make(chan struct{}, 1), finished: make(chan struct{}), booted: make(chan struct{}), keep: keep}
	s.turn <- struct{}{}
	go func() {
		s.host, s.bootErr = boot(ctx)
		close(s.booted)
		if s.bootErr == nil {
			select {
			case <-s.host.Done():
			case <-ctx.Done():
			}
		}
		// Who is here gets the reason; who comes now gets another server.
		s.end()
	}()
	s.idle = time.AfterFunc(max(keep, firstClient), s.endIfIdle)
	defer s.idle.Stop()
	var clients sync.WaitGroup
	for {
		c, err := l.Accept()
		if err != nil {
			break
		}
		clients.Go(func() {
			defer c.Close()
			s.client(ctx, c)
		})
	}
	s.end()
	select {
	case <-s.booted:
	default:
		cancel()
		<-s.booted
	}
	if s.bootErr == nil {
		select {
		case <-s.host.Done(): // its programs hear of that
		default:
			cancel()
		}
		_ = s.host.Close()
	}
	close(s.finished)
	clients.Wait()
	return s.bootErr
}

// end stops accepting clients.
func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked()
}

func (s *server) endLocked() {
	if !s.over {
		s.over = true
		_ = s.listener.Close()
	}
}

func (s *server) endIfIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clients == 0 {
		s.endLocked()
	}
}

// enter counts a client; false: too late.
func (s *server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	s.idle.Stop()
	s.clients++
	return true
}

// leave is enter's counterpart; the last one's keep applies.
func (s *server) leave(keep time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep = keep
	if s.clients--; s.clients > 0 {
		return
	}
	if s.keep <= 0 {
		s.endLocked()
		return
	}
	s.idle.Reset(s.keep)
}

// client serves one connection: one program.
func (s *server) client(ctx context.Context, c net.Conn) {
	conn := wire.NewConn(c)
	f, err := conn.Read()
	if err != nil || f.Kind != wire.KindRun {
		return
	}
	var r Request
	if err := f.JSON(&r); err != nil {
		return
	}
	if r.Stop {
		s.end()
		if conn.Write(wire.KindReply, 0, nil) == nil {
			<-s.finished
		}
		return
	}
	if !s.enter() {
		return
	}
	if s.serve(ctx, conn, r) && r.EndIfKilled {
		r.Keep = 0
	}
	s.leave(r.Keep)
}

// serve runs the program of a request and tells whether the client was killed,
// or passed a signal on, meanwhile.
func (s *server) serve(ctx context.Context, conn *wire.Conn, r Request) (killed bool) {
	if conn.Write(wire.KindReply, 0, nil) != nil {
		return true
	}
	var signalled atomic.Bool
	st, err := s.run(ctx, conn, r, &signalled)
	// Asked before the end is told, after which any client goes.
	killed = signalled.Load()
	return conn.WriteJSON(wire.KindExit, 0, newResult(st, err)) != nil || killed
}

// run waits for the client's turn and runs its program.
func (s *server) run(ctx context.Context, conn *wire.Conn, r Request, killed *atomic.Bool) (lab.ExitStatus, error) {
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	in := newInput(func(n int) { _ = conn.WriteUint32(wire.KindStdinCredit, 0, uint32(n)) })
	signals := make(chan os.Signal, 8)
	go func() {
		gone(s.listen(conn, in, signals, killed))
		in.push(nil)
		select {
		case signals <- syscall.SIGKILL: // nobody reads its stack traces
		default:
		}
	}()
	wait := func(c <-chan struct{}) error {
		select {
		case <-c:
			return nil
		case sig := <-signals:
			return Interrupted{sig.(syscall.Signal)}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := wait(s.turn); err != nil {
		return lab.ExitStatus{}, err
	}
	defer func() { s.turn <- struct{}{} }()
	if err := wait(s.booted); err != nil {
		return lab.ExitStatus{}, err
	}
	host, err := s.host, s.bootErr
	if err != nil {
		return lab.ExitStatus{}, err
	}
	cmd := lab.Cmd{Path: r.Path, Args: r.Args, Programs: r.Programs, Env: r.Env, Dir: r.Dir, Files: r.Files, Dirs: r.Dirs, Out: r.Out, Signals: signals,
		Stdout: frameWriter{conn, wire.KindStdout}, Stderr: frameWriter{conn, wire.KindStderr}}
	if r.Stdin {
		cmd.Stdin = in
	}
	limited, stop := r.limit(ctx)
	defer stop()
	return host.Exec(limited, cmd)
}

// listen passes on the client's input and signals until it has gone.
func (s *server) listen(conn *wire.Conn, in *input, signals chan<- os.Signal, killed *atomic.Bool) error {
	for {
		f, err := conn.Read()
		if err != nil {
			killed.Store(true)
			return fmt.Errorf("the client has gone: %w", err)
		}
		switch f.Kind {
		case wire.KindStdin:
			in.push(f.Payload)
		case wire.KindSignal:
			if n, err := f.Uint32(); err == nil {
				killed.Store(true)
				select {
				case signals <- syscall.Signal(n):
				default: // it has more than enough to think about
				}
			}
		}
	}
}
