// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"xenvmm/tests/lab/wire"
)

// server answers calls until the channel ends.
type server struct {
	conn   *wire.Conn
	window []byte
	cache  *cache
	resolv string // content of /etc/resolv.conf
	reap   *reaper

	mu       sync.Mutex
	programs map[uint32]*program
}

func newServer(conn *wire.Conn, window []byte, cacheBytes int64, resolv string, reap *reaper) *server {
	return &server{conn: conn, window: window, cache: newCache("/run/lab/cache", cacheBytes), resolv: resolv, reap: reap,
		programs: map[uint32]*program{}}
}

// run returns nil when the host asked for the end or went away.
func (s *server) run() error {
	for {
		f, err := s.conn.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if f.Kind != wire.KindCall {
			s.toProgram(f)
			continue
		}
		var c wire.Call
		if err := f.JSON(&c); err != nil {
			return err
		}
		if c.PowerOff != nil {
			return nil
		}
		r, err := s.call(&c)
		if err != nil {
			r.Err = err.Error()
			var no syscall.Errno
			if errors.As(err, &no) {
				r.Errno = int(no)
			}
		}
		if err := s.conn.WriteJSON(wire.KindReply, f.ID, r); err != nil {
			return err
		}
	}
}

func (s *server) call(c *wire.Call) (r wire.Reply, err error) {
	switch {
	case c.Prepare != nil:
		for i, f := range c.Prepare.Files {
			if f.Link == "" && !s.cache.has(f) {
				r.Missing = append(r.Missing, i)
			}
		}
		if len(r.Missing) > 0 {
			return r, nil
		}
		err = makeRoot(c.Prepare, s.cache, s.resolv)
		s.cache.trim()
	case c.Chunk != nil:
		var data []byte
		if data, err = s.slice(c.Chunk.Window, c.Chunk.Len); err == nil {
			err = s.cache.add(c.Chunk, data)
		}
	case c.Exec != nil:
		err = s.exec(c.Exec)
	case c.List != nil:
		r.Entries, err = listTree(c.List)
	case c.Fetch != nil:
		var buf []byte
		if buf, err = s.slice(c.Fetch.Window, c.Fetch.Len); err == nil {
			r.N, err = fetch(c.Fetch, buf)
		}
	case c.Release != nil:
		s.release(c.Release.Root)
	default:
		err = errors.New("unknown call: the library and the init are of different versions")
	}
	return r, err
}

// slice is a checked piece of the transfer window.
func (s *server) slice(off, n int64) ([]byte, error) {
	size := int64(len(s.window))
	if off < 0 || n < 0 || off > size || n > size-off {
		return nil, fmt.Errorf("[%d, %d+%d) lies outside the transfer window of %d bytes", off, off, n, size)
	}
	return s.window[off : off+n], nil
}

func (s *server) exec(e *wire.Exec) error {
	p, err := startProgram(e, s.conn, s.reap)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.programs[e.Root] = p
	s.mu.Unlock()
	return nil
}

// toProgram passes a stream frame on; the program may just have ended.
func (s *server) toProgram(f wire.Frame) {
	s.mu.Lock()
	p := s.programs[f.ID]
	s.mu.Unlock()
	if p == nil {
		return
	}
	switch f.Kind {
	case wire.KindStdin:
		p.stdin.push(f.Payload)
	case wire.KindCredit:
		if n, err := f.Uint32(); err == nil {
			p.credit.Give(int(n))
		}
	case wire.KindSignal:
		if n, err := f.Uint32(); err == nil {
			p.signal(unix.Signal(n))
		}
	case wire.KindResize:
		if n, err := f.Uint32(); err == nil {
			p.resize(uint16(n>>16), uint16(n))
		}
	}
}

// release ends what is left of a program and removes its root.
func (s *server) release(id uint32) {
	s.mu.Lock()
	p := s.programs[id]
	delete(s.programs, id)
	s.mu.Unlock()
	if p != nil {
		p.end()
	}
	removeRoot(id)
	_ = os.Remove(cgroupDir(id))
}
