// SPDX-License-Identifier: Apache-2.0

package eventfd

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Sink is told that a descriptor was readable. n is the counter that was
// taken: the number of writes since the last call, or of timer expirations.
type Sink[L any] interface {
	Fired(local L, n uint64)
}

// SinkFunc adapts a function to Sink.
type SinkFunc[L any] func(local L, n uint64)

// Fired implements Sink.
func (f SinkFunc[L]) Fired(local L, n uint64) { f(local, n) }

// Options of a waiter.
type Options struct {
	// BusyPoll is how long the thread keeps polling after the last event
	// before it blocks; zero means it blocks at once.
	BusyPoll time.Duration
}

// Waiter owns the thread. L is the type of the value that belongs to it.
type Waiter[L any] struct {
	epfd  int
	stop  *Event
	busy  time.Duration
	done  chan struct{}
	setup func() (L, func())

	mu     sync.Mutex // guards next, closed and replacement of byID
	next   int32
	closed bool
	byID   atomic.Pointer[map[int32]*Source[L]] // replaced whole, read by the thread
}

// Source is one descriptor on a waiter.
type Source[L any] struct {
	w    *Waiter[L]
	id   int32
	fd   int
	sink Sink[L]

	mu     sync.Mutex // held while the sink runs; guards closed
	closed bool
}

// NewWaiter starts the thread. setup runs on it first and returns the thread's
// own value and a function that releases it; it may be nil.
func NewWaiter[L any](o Options, setup func() (L, func())) (*Waiter[L], error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create epoll instance: %w", err)
	}
	stop, err := New()
	if err != nil {
		unix.Close(epfd)
		return nil, err
	}
	w := &Waiter[L]{epfd: epfd, stop: stop, busy: o.BusyPoll, setup: setup, done: make(chan struct{})}
	w.byID.Store(&map[int32]*Source[L]{})
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: 0}
	if err := unix.EpollCtl(epfd, unix.EPOLL_CTL_ADD, stop.FD(), &ev); err != nil {
		unix.Close(epfd)
		stop.Close()
		return nil, fmt.Errorf("watch the waiter's stop event: %w", err)
	}
	go w.run()
	return w, nil
}

// Add watches fd, which stays the caller's and must outlive the source.
func (w *Waiter[L]) Add(fd int, sink Sink[L]) (*Source[L], error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, fmt.Errorf("watch fd %d: waiter is closed", fd)
	}
	w.next++
	s := &Source[L]{w: w, id: w.next, fd: fd, sink: sink}
	w.replace(func(m map[int32]*Source[L]) { m[s.id] = s })
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: s.id}
	if err := unix.EpollCtl(w.epfd, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		w.replace(func(m map[int32]*Source[L]) { delete(m, s.id) })
		return nil, fmt.Errorf("watch fd %d: %w", fd, err)
	}
	return s, nil
}

// Close stops watching. When it returns the sink is not running and will not
// run again. It must not be called from the sink.
func (s *Source[L]) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	s.mu.Unlock()
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		_ = unix.EpollCtl(w.epfd, unix.EPOLL_CTL_DEL, s.fd, nil)
	}
	w.replace(func(m map[int32]*Source[L]) { delete(m, s.id) })
}

// replace publishes a changed copy of the table. w.mu must be held.
func (w *Waiter[L]) replace(change func(map[int32]*Source[L])) {
	old := *w.byID.Load()
	m := make(map[int32]*Source[L], len(old)+1)
	for id, s := range old {
		m[id] = s
	}
	change(m)
	w.byID.Store(&m)
}

// Close ends the thread and waits for it. Sources left are closed with it.
func (w *Waiter[L]) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	w.mu.Unlock()
	if err := w.stop.Signal(); err != nil {
		return err
	}
	<-w.done
	for _, s := range *w.byID.Load() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
	}
	w.stop.Close()
	return unix.Close(w.epfd)
}

func (w *Waiter[L]) run() {
	// Locked and never unlocked: the thread ends with the goroutine, so that
	// nothing the setup did to it (affinity, priority) reaches other goroutines.
	runtime.LockOSThread()
	defer close(w.done)
	var local L
	if w.setup != nil {
		l, release := w.setup()
		local = l
		if release != nil {
			defer release()
		}
	}
	var (
		events [64]unix.EpollEvent
		buf    [8]byte
		last   time.Time
	)
	for {
		timeout := -1
		if w.busy > 0 && time.Since(last) < w.busy {
			timeout = 0
		}
		n, err := unix.EpollWait(w.epfd, events[:], timeout)
		if err == unix.EINTR || n == 0 {
			continue
		}
		if err != nil {
			return // the epoll descriptor is gone: Close is the only one who does that
		}
		table := *w.byID.Load()
		for _, ev := range events[:n] {
			if ev.Fd == 0 {
				return
			}
			if s := table[ev.Fd]; s != nil {
				s.fire(local, &buf)
			}
		}
		if w.busy > 0 {
			last = time.Now()
		}
	}
}

// fire takes the counter and calls the sink unless the source was closed.
func (s *Source[L]) fire(local L, buf *[8]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if n := drain(s.fd, buf); n != 0 {
		s.sink.Fired(local, n)
	}
}
