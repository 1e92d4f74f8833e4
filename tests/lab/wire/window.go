// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"sync"
)

// StreamWindow is how many bytes a sender may have under way that the
// receiver hasn't reported as consumed.
const StreamWindow = 256 << 10

// ErrWindowClosed is what Take returns after Close.
var ErrWindowClosed = errors.New("stream closed")

// Window is a sender's stock of credit. Its methods may be called from any
// goroutine.
type Window struct {
	mu     sync.Mutex
	cond   sync.Cond
	left   int
	closed bool
}

// NewWindow returns a window of n bytes.
func NewWindow(n int) *Window {
	w := &Window{left: n}
	w.cond.L = &w.mu
	return w
}

// Take blocks until at least one byte of credit is there and takes up to max.
func (w *Window) Take(max int) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.left <= 0 && !w.closed {
		w.cond.Wait()
	}
	if w.closed {
		return 0, ErrWindowClosed
	}
	n := min(max, w.left)
	w.left -= n
	return n, nil
}

// Give returns n bytes of credit.
func (w *Window) Give(n int) {
	w.mu.Lock()
	w.left += n
	w.mu.Unlock()
	w.cond.Broadcast()
}

// Close makes every Take, waiting or to come, fail.
func (w *Window) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cond.Broadcast()
}
