// SPDX-License-Identifier: Apache-2.0

package memory

import "fmt"

// copyChunk bounds how much one section copies, so that a large copy does not
// hold up changes.
const copyChunk = 64 << 10

// ReadAt copies len(p) bytes of guest memory at gpa into p. The range may cross
// pages and regions. It is checked as a whole first: without ErrNoMemory for
// any part of it, nothing is left out (only a mapping removed during the call
// can end a copy in the middle, again with ErrNoMemory). Bytes that the guest
// writes meanwhile are old or new.
func (m *Memory) ReadAt(p []byte, gpa uint64) error { return m.copyAt("read", p, gpa, false) }

// WriteAt copies p into guest memory at gpa; see ReadAt.
func (m *Memory) WriteAt(p []byte, gpa uint64) error { return m.copyAt("write", p, gpa, true) }

func (m *Memory) copyAt(op string, p []byte, gpa uint64, write bool) error {
	e, v, err := m.enter()
	if err != nil {
		return err
	}
	if !v.covers(gpa, uint64(len(p))) {
		e.exit()
		return accessError(op, gpa, uint64(len(p)))
	}
	ok := copyChunkAt(v, p[:min(len(p), copyChunk)], gpa, write)
	e.exit()
	for done := copyChunk; ok && done < len(p); done += copyChunk {
		e, v, err := m.enter()
		if err != nil {
			return err
		}
		ok = copyChunkAt(v, p[done:min(len(p), done+copyChunk)], gpa+uint64(done), write)
		e.exit()
	}
	if !ok {
		return accessError(op, gpa, uint64(len(p)))
	}
	if write {
		m.MarkDirty(gpa, uint64(len(p)))
	}
	return nil
}

// copyChunkAt copies within the caller's section; false if part of the range
// is not mapped.
func copyChunkAt(v *view, p []byte, gpa uint64, write bool) bool {
	for len(p) > 0 {
		r := v.find(gpa)
		if r == nil {
			return false
		}
		n := min(uint64(len(p)), r.end()-gpa)
		w := window(r.base, gpa-r.gpa, n)
		if write {
			copy(w, p)
		} else {
			copy(p, w)
		}
		p, gpa = p[n:], gpa+n
	}
	return true
}

// accessError is in a function of its own to keep formatting, which allocates,
// off the paths that succeed.
//
//go:noinline
func accessError(op string, gpa, n uint64) error {
	return fmt.Errorf("%s %d bytes of guest memory at %#x: %w", op, n, gpa, ErrNoMemory)
}
