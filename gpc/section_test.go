// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"errors"

	"xenvmm/gpc/srcu"
)

// inside stands for a reader that is in the middle of a section over c, until
// leave is called.
func inside(s *Set, c *Cache) (leave func()) {
	if g, ok := s.guard.(interface{ slotReader() *srcu.Reader }); ok {
		r := g.slotReader()
		r.Enter()
		return func() {
			r.Exit()
			r.Close()
		}
	}
	_, lock, release := s.guard.newReader()
	lock.enter(c, nil)
	return func() {
		lock.exit(c, nil)
		release()
	}
}

func (g srcuGuard) slotReader() *srcu.Reader { return g.domain.NewReader() }

// refreshed refreshes c however long the transactions in progress take.
func refreshed(c *Cache) {
	err := c.Refresh()
	for errors.Is(err, ErrBusy) {
		err = c.Refresh()
	}
	must(err)
}

// background runs f and returns a channel that is closed when it returns.
func background(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return done
}

func running(done <-chan struct{}) bool {
	select {
	case <-done:
		return false
	default:
		return true
	}
}
