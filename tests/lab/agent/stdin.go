// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"io"
	"sync"
)

// stdin feeds a program's standard input. The queue needs no bound of its own:
// the sender has credit for a window's worth only.
type stdin struct {
	mu     sync.Mutex
	cond   sync.Cond
	queue  [][]byte
	closed bool
}

// newStdin owns w. consumed is told the bytes that have left the queue, also
// when the program doesn't read them any more.
func newStdin(w io.WriteCloser, consumed func(n int)) *stdin {
	s := &stdin{}
	s.cond.L = &s.mu
	go func() {
		defer w.Close()
		broken := false
		for {
			p, ok := s.next()
			if !ok || len(p) == 0 {
				return
			}
			if !broken {
				_, err := w.Write(p)
				broken = err != nil
			}
			consumed(len(p))
		}
	}()
	return s
}

// push queues p; an empty p is the end of input.
func (s *stdin) push(p []byte) {
	s.mu.Lock()
	s.queue = append(s.queue, p)
	s.mu.Unlock()
	s.cond.Signal()
}

func (s *stdin) next() ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 && !s.closed {
		s.cond.Wait()
	}
	if s.closed {
		return nil, false
	}
	p := s.queue[0]
	s.queue = s.queue[1:]
	return p, true
}

func (s *stdin) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cond.Signal()
}
