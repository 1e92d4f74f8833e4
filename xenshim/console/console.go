// SPDX-License-Identifier: Apache-2.0

package console

import (
	"io"
	"log/slog"
	"sync"
	"time"

	"xenvmm/xenshim/abi"
)

// closeTimeout bounds how long Close waits for a writer or reader that hangs.
const closeTimeout = 2 * time.Second

// Console serves one console page.
type Console struct {
	page   Page
	notify func()
	log    *slog.Logger

	kick   chan struct{} // capacity 1: the guest has signalled
	room   chan struct{} // capacity 1: the in ring may have got room
	stop   chan struct{}
	done   chan struct{} // closed when the output goroutine has ended
	closed sync.Once

	output // owned by the output goroutine

	mu     sync.Mutex // guards what follows
	begun  bool
	inProd uint32 // input bytes given to the guest
	reader io.Reader
	pulled chan struct{} // closed when the puller has ended; nil if none
}

// New connects to the page and starts moving the guest's output to out, which
// may be nil to discard it. notifyGuest signals the guest's event channel and
// must not block. The console begins with the indices it finds in the page
// and marks itself as connected.
func New(page Page, out io.Writer, notifyGuest func(), log *slog.Logger) *Console {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if out == nil {
		out = io.Discard
	}
	c := &Console{
		page: page, notify: notifyGuest, log: log,
		kick: make(chan struct{}, 1), room: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	c.out = out
	c.begin()
	go c.run()
	c.Kick() // output from before
	return c
}

// begin takes up the rings where the page has them, and reports whether that has
// been done. While the page can't be reached nothing moves, and each kick tries
// again.
func (c *Console) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun {
		return true
	}
	if err := c.start(); err != nil {
		c.log.Debug("console page not accessible", "err", err)
		return false
	}
	c.begun = true
	poke(c.room)
	return true
}

func (c *Console) start() (err error) {
	if c.cons, err = c.page.Load32(abi.ConsoleOutCons); err != nil {
		return err
	}
	if c.inProd, err = c.page.Load32(abi.ConsoleInProd); err != nil {
		return err
	}
	return c.page.WriteAt([]byte{abi.ConsoleConnected}, abi.ConsoleConnection)
}

// Kick says that the guest has signalled its event channel: it has written
// output or read input. It never blocks; kicks merge.
func (c *Console) Kick() {
	poke(c.kick)
	poke(c.room)
}

func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (c *Console) run() {
	defer close(c.done)
	for {
		select {
		case <-c.stop:
			c.last()
			return
		case <-c.kick:
			for c.drain() {
				select {
				case <-c.stop:
					c.last()
					return
				default:
				}
			}
		}
	}
}

// Close hands what the guest has written so far to the writer, marks the
// console as disconnected and ends both goroutines. A reader or writer with
// deadlines (files, sockets) is interrupted; one without that still hangs
// after two seconds is left behind, as nothing can end it.
func (c *Console) Close() {
	c.closed.Do(func() {
		close(c.stop)
		c.mu.Lock()
		r, pulled := c.reader, c.pulled
		c.mu.Unlock()
		// Both may be used again after the console: take the deadlines back.
		if d, ok := r.(interface{ SetReadDeadline(time.Time) error }); ok {
			if err := d.SetReadDeadline(time.Unix(1, 0)); err != nil {
				c.log.Debug("console input cannot be interrupted", "err", err)
			} else {
				defer d.SetReadDeadline(time.Time{})
			}
		}
		if d, ok := c.out.(interface{ SetWriteDeadline(time.Time) error }); ok {
			if err := d.SetWriteDeadline(time.Now().Add(closeTimeout)); err != nil {
				c.log.Debug("console output cannot be interrupted", "err", err)
			} else {
				defer d.SetWriteDeadline(time.Time{})
			}
		}
		limit := time.NewTimer(closeTimeout)
		defer limit.Stop()
		for _, ch := range []chan struct{}{c.done, pulled} {
			if ch == nil {
				continue
			}
			select {
			case <-ch:
			case <-limit.C:
				limit.Reset(0)
			}
		}
	})
}
