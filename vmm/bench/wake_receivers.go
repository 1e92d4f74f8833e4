// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"xenvmm/vmm/eventfd"
)

// A receiver is one way to wait for an eventfd.
type receiver struct {
	name string
	// start calls fired for each time fd was readable, until stop, which returns
	// when fired is not running and never will again.
	start func(fd int, fired func()) (stop func() error, err error)
}

func wakeReceivers() []receiver {
	return []receiver{
		{"netpoll", startNetpoll},
		{"epoll thread", func(fd int, fired func()) (func() error, error) {
			return startWaiter(eventfd.Options{}, fd, fired)
		}},
		{"busy poll", func(fd int, fired func()) (func() error, error) {
			return startWaiter(eventfd.Options{BusyPoll: time.Hour}, fd, fired)
		}},
	}
}

// startWaiter waits as the machine does.
func startWaiter(o eventfd.Options, fd int, fired func()) (func() error, error) {
	w, err := eventfd.NewWaiter[struct{}](o, nil)
	if err != nil {
		return nil, err
	}
	s, err := w.Add(fd, eventfd.SinkFunc[struct{}](func(struct{}, uint64) { fired() }))
	if err != nil {
		_ = w.Close()
		return nil, err
	}
	return func() error { s.Close(); return w.Close() }, nil
}

// startNetpoll waits as most Go programs do: a goroutine reads a file that the
// runtime's poller watches.
func startNetpoll(fd int, fired func()) (func() error, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("duplicate eventfd %d: %w", fd, err)
	}
	f := os.NewFile(uintptr(own), "eventfd") // non-blocking, so the poller takes it
	var reader sync.WaitGroup
	reader.Go(func() {
		var b [8]byte
		for {
			if _, err := f.Read(b[:]); err != nil {
				return
			}
			if binary.NativeEndian.Uint64(b[:]) != 0 {
				fired()
			}
		}
	})
	return func() error {
		err := f.Close()
		reader.Wait()
		return err
	}, nil
}

// makeBusy starts n goroutines that never rest, and returns what ends them.
func makeBusy(n int) (calm func()) {
	var stop atomic.Bool
	var g sync.WaitGroup
	for range n {
		g.Go(func() {
			for !stop.Load() {
			}
		})
	}
	return func() {
		stop.Store(true)
		g.Wait()
	}
}
