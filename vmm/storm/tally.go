// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// tally reads the guest's own counts from its console:
//
//	STORM port=<p> taken=<n>
//	STORM total=<n> upcalls=<n> moves=<n> cpus=<n>
//
// It passes everything on to out. A line longer than a line of the tally can
// be is not one.
type tally struct {
	out io.Writer

	mu      sync.Mutex // guards what follows
	line    []byte
	taken   map[uint32]uint64
	upcalls uint64
	moves   int
}

const maxTallyLine = 256

func newTally(out io.Writer) *tally {
	if out == nil {
		out = io.Discard
	}
	return &tally{out: out, taken: map[uint32]uint64{}}
}

// Write implements io.Writer.
func (t *tally) Write(p []byte) (int, error) {
	t.mu.Lock()
	for _, c := range p {
		if c == '\n' {
			t.read(string(bytes.TrimRight(t.line, "\r")))
			t.line = t.line[:0]
		} else if len(t.line) < maxTallyLine {
			t.line = append(t.line, c)
		}
	}
	t.mu.Unlock()
	return t.out.Write(p)
}

func (t *tally) read(line string) {
	var port uint32
	var n, total uint64
	var moves int
	if k, _ := fmt.Sscanf(line, "STORM port=%d taken=%d", &port, &n); k == 2 {
		if len(t.taken) < 4096 {
			t.taken[port] = n
		}
	} else if k, _ := fmt.Sscanf(line, "STORM total=%d upcalls=%d moves=%d", &total, &n, &moves); k == 3 {
		t.upcalls, t.moves = n, moves
	}
}

// counts returns what was read so far.
func (t *tally) counts() (taken map[uint32]uint64, upcalls uint64, moves int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.taken, t.upcalls, t.moves
}
