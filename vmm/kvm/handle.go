// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// ErrClosed is returned by every call on a closed System, VM or VCPU.
var ErrClosed = errors.New("kvm: already closed")

// closing marks a handle whose Close was called; the low bits count calls in
// progress.
const closing = int64(1) << 62

// handle owns one descriptor and counts the calls that use it, so that Close
// can be called at any time and no call ever sees a reused descriptor number.
type handle struct {
	state   atomic.Int64
	fd      int
	what    string
	destroy func() error // runs once, by whoever leaves last
	leak    *leakNote
}

// leakNote outlives its handle: the cleanup must not keep the handle reachable.
type leakNote struct {
	closed atomic.Bool
	what   string
	report func(what string)
}

func (h *handle) init(fd int, what string, onLeak func(string), destroy func() error) {
	h.fd, h.what, h.destroy = fd, what, destroy
	if onLeak != nil {
		h.leak = &leakNote{what: what, report: onLeak}
	}
}

// watch arms the leak reporter for owner, the object that embeds h.
func watch[T any](owner *T, h *handle) {
	if h.leak == nil {
		return
	}
	runtime.AddCleanup(owner, func(n *leakNote) {
		if !n.closed.Load() {
			n.report(n.what)
		}
	}, h.leak)
}

// acquire enters a call; false once Close was called.
func (h *handle) acquire() bool {
	if h.state.Add(1)&closing == 0 {
		return true
	}
	h.release()
	return false
}

// release leaves a call. Whoever brings a closing handle to zero swaps the
// count for a second mark, so that late acquirers cannot destroy it again.
func (h *handle) release() {
	if h.state.Add(-1) == closing {
		h.finish()
	}
}

func (h *handle) finish() {
	if h.state.CompareAndSwap(closing, closing|closing>>1) {
		_ = h.destroy()
	}
}

// close is idempotent. When calls are in progress the last one destroys the
// descriptor and its error, if any, is lost; otherwise it is returned.
func (h *handle) close() error {
	for {
		s := h.state.Load()
		if s&closing != 0 {
			return nil
		}
		if !h.state.CompareAndSwap(s, s|closing) {
			continue
		}
		if h.leak != nil {
			h.leak.closed.Store(true)
		}
		if s == 0 && h.state.CompareAndSwap(closing, closing|closing>>1) {
			if err := h.destroy(); err != nil {
				return fmt.Errorf("close %s: %w", h.what, err)
			}
		}
		return nil
	}
}

// call runs one ioctl with an integer argument.
func (h *handle) call(op string, req, arg uintptr) (int, error) {
	if !h.acquire() {
		return -1, fmt.Errorf("%s: %s: %w", h.what, op, ErrClosed)
	}
	r, errno := ioctlWhole(h.fd, req, arg)
	h.release()
	if errno != 0 {
		return -1, h.failed(op, errno)
	}
	return r, nil
}

func (h *handle) failed(op string, errno unix.Errno) error {
	return fmt.Errorf("%s: %s: %w", h.what, op, errno)
}
