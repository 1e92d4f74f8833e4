// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"xenvmm/tests/lab/warm"
)

// endGrace is how long a program has after SIGTERM or SIGHUP before it is
// stopped as by a time limit; patience is how many signals end the host under
// it at once.
const (
	endGrace = 10 * time.Second
	patience = 3
)

// signals makes the signals that this process gets those of the program. While
// there is no program they end the command.
type signals struct {
	ToProgram <-chan os.Signal

	in     chan os.Signal
	end    context.CancelCauseFunc
	mu     sync.Mutex
	force  func() // set while a program runs
	count  int
	ending *time.Timer
}

// catchSignals returns a context that ends when a signal is to end the
// command; its cause is a warm.Interrupted. stop undoes it.
func catchSignals(ctx context.Context) (_ context.Context, s *signals, stop func()) {
	ctx, end := context.WithCancelCause(ctx)
	s = &signals{in: make(chan os.Signal, 8), end: end}
	signal.Notify(s.in, unix.SIGINT, unix.SIGTERM, unix.SIGQUIT, unix.SIGHUP)
	out, over := make(chan os.Signal, 8), make(chan struct{})
	s.ToProgram = out
	go func() {
		for {
			select {
			case sig := <-s.in:
				if s.take(sig.(syscall.Signal)) {
					select {
					case out <- sig:
					default: // it has more than enough to think about
					}
				}
			case <-over:
				return
			}
		}
	}()
	return ctx, s, func() {
		signal.Stop(s.in)
		close(over)
		s.ProgramEnded()
		end(nil)
	}
}

// take decides what a signal means; true: the program gets it.
func (s *signals) take(sig syscall.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.force == nil {
		s.end(warm.Interrupted{Signal: sig})
		return false
	}
	if s.count++; s.count >= patience {
		s.endAll(sig)
		return false
	}
	if (sig == unix.SIGTERM || sig == unix.SIGHUP) && s.ending == nil {
		s.ending = time.AfterFunc(endGrace, func() { s.end(warm.Interrupted{Signal: sig}) })
	}
	return true
}

// giveUp ends the host under its program, as the last of many signals does.
func (s *signals) giveUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endAll(unix.SIGTERM)
}

func (s *signals) endAll(sig syscall.Signal) {
	s.end(warm.Interrupted{Signal: sig})
	if s.force != nil {
		s.force()
	}
}

// ProgramStarts makes signals go to the program; force ends the host under it.
func (s *signals) ProgramStarts(force func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.force = force
}

// ProgramEnded is ProgramStarts' counterpart; it may be called again.
func (s *signals) ProgramEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.force = nil
	if s.ending != nil {
		s.ending.Stop()
	}
}
