// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// consoleLines is how many of the last lines are kept.
const consoleLines = 400

// maxLine cuts lines off, in bytes.
const maxLine = 4096

// console keeps the last lines and looks for signs of a dead kernel.
type console struct {
	mu    sync.Mutex
	ring  []string
	next  int
	part  []byte
	copy  io.Writer
	crash string // the first line that tells of a crash
}

// crashMarks are what a kernel says that won't go on.
var crashMarks = []string{"Kernel panic - not syncing", "Oops: ", "BUG: unable to handle", "kernel BUG at", "general protection fault, "}

// Write takes a piece of the console's output. It never fails.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.copy != nil {
		_, _ = c.copy.Write(p)
	}
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte{'\n'})
		if room := maxLine - len(c.part); room > 0 {
			c.part = append(c.part, line[:min(room, len(line))]...)
		}
		if whole {
			c.add(strings.TrimRight(string(c.part), "\r"))
			c.part = c.part[:0]
		}
		rest = after
	}
	return len(p), nil
}

func (c *console) add(line string) {
	if len(c.ring) < consoleLines {
		c.ring = append(c.ring, line)
	} else {
		c.ring[c.next] = line
		c.next = (c.next + 1) % consoleLines
	}
	if c.crash != "" {
		return
	}
	for _, m := range crashMarks {
		if strings.Contains(line, m) {
			c.crash = line
		}
	}
}

// lines returns what is kept, oldest first.
func (c *console) lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := append(append([]string(nil), c.ring[c.next:]...), c.ring[:c.next]...)
	if len(c.part) > 0 {
		out = append(out, string(c.part))
	}
	return out
}

func (c *console) crashed() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.crash
}
