// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"xenvmm/tests/lab/wire"
)

// stream is the host's end of a running program. The listening goroutine only
// queues, so that a writer that blocks holds up its own program, whose credit
// runs out, and no other.
type stream struct {
	id     uint32
	conn   *wire.Conn
	credit *wire.Window // for stdin
	exit   chan wire.Exit

	mu     sync.Mutex
	cond   sync.Cond
	queue  []wire.Frame
	queued int
	ended  bool
}

func newStream(id uint32, conn *wire.Conn) *stream {
	s := &stream{id: id, conn: conn, credit: wire.NewWindow(wire.StreamWindow), exit: make(chan wire.Exit, 1)}
	s.cond.L = &s.mu
	return s
}

var errCredit = errors.New("the init sent more than it had credit for")

// take accepts a frame for this program.
func (s *stream) take(f wire.Frame) error {
	switch f.Kind {
	case wire.KindStdinCredit:
		n, err := f.Uint32()
		if err != nil {
			return err
		}
		s.credit.Give(int(n))
		return nil
	case wire.KindStdout, wire.KindStderr, wire.KindExit:
	default:
		return fmt.Errorf("unexpected frame of kind %d", f.Kind)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Kind != wire.KindExit {
		if s.queued += len(f.Payload); s.queued > wire.StreamWindow {
			return errCredit
		}
	}
	s.queue = append(s.queue, f)
	s.cond.Signal()
	return nil
}

// copyOut writes the program's output until its exit, which goes to s.exit, or
// until end is called. A writer's error silences that writer: the program goes
// on as if its reader had gone.
func (s *stream) copyOut(stdout, stderr io.Writer) {
	for {
		s.mu.Lock()
		for len(s.queue) == 0 && !s.ended {
			s.cond.Wait()
		}
		if len(s.queue) == 0 {
			s.mu.Unlock()
			return
		}
		f := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		if f.Kind == wire.KindExit {
			var x wire.Exit
			if f.JSON(&x) == nil {
				s.exit <- x
			}
			return
		}
		w := &stdout
		if f.Kind == wire.KindStderr {
			w = &stderr
		}
		if *w != nil {
			if _, err := (*w).Write(f.Payload); err != nil {
				*w = nil
			}
		}
		s.mu.Lock()
		s.queued -= len(f.Payload)
		s.mu.Unlock()
		_ = s.conn.WriteUint32(wire.KindCredit, s.id, uint32(len(f.Payload)))
	}
}

// copyIn sends the program's input. It returns at r's end or when the program
// ends; a Read that blocks keeps it longer, as with os/exec.
func (s *stream) copyIn(r io.Reader) {
	buf := make([]byte, wire.MaxData)
	for r != nil {
		n, err := r.Read(buf)
		for sent := 0; sent < n; {
			k, e := s.credit.Take(n - sent)
			if e != nil || s.conn.Write(wire.KindStdin, s.id, buf[sent:sent+k]) != nil {
				return
			}
			sent += k
		}
		if err != nil {
			break
		}
	}
	_ = s.conn.Write(wire.KindStdin, s.id, nil)
}

// end stops the copying.
func (s *stream) end() {
	s.credit.Close()
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.cond.Signal()
}
