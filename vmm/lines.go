// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"io"
	"strings"
	"sync"
)

// Bounds of what is kept of a guest's output: the guest writes as much as it
// likes, the monitor keeps this much.
const (
	tailLines     = 40
	tailLineBytes = 512
)

// history is the last lines of all of a guest's output devices together.
type history struct {
	watch func(line string) // may be nil; called without the lock held
	lost  func(err error)   // told once per device when its output cannot be written; may be nil

	mu      sync.Mutex // guards what follows
	ring    [tailLines]string
	next    int
	total   int
	streams []*lineSplitter
}

// stream returns a writer that passes everything on to w and remembers the
// lines. Each device gets one of its own, so that two devices that write at
// once do not break each other's lines.
func (h *history) stream(w io.Writer) io.Writer {
	s := &lineSplitter{out: w, history: h}
	h.mu.Lock()
	h.streams = append(h.streams, s)
	h.mu.Unlock()
	return s
}

func (h *history) add(line string) {
	h.mu.Lock()
	h.ring[h.next] = line
	h.next = (h.next + 1) % tailLines
	h.total++
	h.mu.Unlock()
	if h.watch != nil {
		h.watch(line)
	}
}

// Lines returns what is remembered, oldest first, unfinished lines last.
func (h *history) Lines() []string {
	h.mu.Lock()
	n := min(h.total, tailLines)
	out := make([]string, 0, n+len(h.streams))
	for i := range n {
		out = append(out, h.ring[(h.next-n+i+tailLines)%tailLines])
	}
	streams := h.streams
	h.mu.Unlock()
	for _, s := range streams {
		if line := s.unfinished(); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// lineSplitter cuts one device's output into lines. A line longer than
// tailLineBytes is cut short.
type lineSplitter struct {
	out     io.Writer
	history *history

	mu      sync.Mutex // guards what follows; held while out writes, so that bytes keep their order
	partial []byte
	failed  bool // out has failed before
}

// Write implements io.Writer.
func (s *lineSplitter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range p {
		switch c {
		case '\n':
			s.history.add(printable(s.partial))
			s.partial = s.partial[:0]
		case '\r', 0:
		default:
			if len(s.partial) < tailLineBytes {
				s.partial = append(s.partial, c)
			}
		}
	}
	n, err := s.out.Write(p)
	if err != nil && !s.failed {
		s.failed = true
		if s.history.lost != nil {
			s.history.lost(err)
		}
	}
	return n, err
}

func (s *lineSplitter) unfinished() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return printable(s.partial)
}

// printable keeps control characters of a guest off the user's terminal.
func printable(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return '.'
		}
		return r
	}, string(b))
}
