// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"io"

	"xenvmm/xenshim/abi"
)

var inRing = ring{abi.ConsoleIn, abi.ConsoleInSize}

// ErrAttached is returned by Attach if the console has a reader or is closed.
var ErrAttached = errors.New("console: input is attached already or the console is closed")

// Input gives the guest as much of p as the ring has room for and returns how
// much that was. It never blocks.
func (c *Console) Input(p []byte) int {
	c.mu.Lock()
	n := c.give(p)
	c.mu.Unlock()
	if n > 0 {
		c.notify()
	}
	return n
}

// give is Input without the signal. Callers hold mu.
func (c *Console) give(p []byte) int {
	n := min(uint32(len(p)), c.space())
	if n == 0 {
		return 0
	}
	if err := inRing.write(c.page, p[:n], c.inProd); err != nil {
		c.log.Debug("console input", "err", err)
		return 0
	}
	if err := c.page.Store32(abi.ConsoleInProd, c.inProd+n); err != nil {
		c.log.Debug("console input", "err", err)
		return 0
	}
	c.inProd += n
	return int(n)
}

// space is the room in the in ring. A consumer index that can't be right makes
// the guest's idea of it the new start. Callers hold mu.
func (c *Console) space() uint32 {
	if !c.begun {
		return 0
	}
	cons, err := c.page.Load32(abi.ConsoleInCons)
	if err != nil {
		return 0
	}
	if c.inProd-cons > abi.ConsoleInSize {
		c.log.Debug("console input index out of range", "producer", c.inProd, "consumer", cons)
		c.inProd = cons
	}
	return abi.ConsoleInSize - (c.inProd - cons)
}

// Attach starts pulling input from r. It reads only while the guest has room,
// so r holds back what the guest doesn't take. Pulling ends at the first error
// of r, at its end, or at Close.
func (c *Console) Attach(r io.Reader) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.stop:
		return ErrAttached
	default:
	}
	if c.pulled != nil {
		return ErrAttached
	}
	c.reader, c.pulled = r, make(chan struct{})
	go c.pull(r, c.pulled)
	return nil
}

func (c *Console) pull(r io.Reader, pulled chan struct{}) {
	defer close(pulled)
	buf := make([]byte, abi.ConsoleInSize)
	for c.waitRoom() {
		n, err := r.Read(buf)
		for p := buf[:n]; len(p) > 0; {
			given := c.Input(p)
			p = p[given:]
			// Nothing given in spite of room: the page can't be written now.
			if len(p) > 0 && (given == 0 && !c.waitKick() || !c.waitRoom()) {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				c.log.Debug("console input ended", "err", err)
			}
			return
		}
	}
}

// waitRoom returns true as soon as the ring has room, false at Close. The
// guest signals after it has read, so a full ring needs no polling.
func (c *Console) waitRoom() bool {
	for {
		c.mu.Lock()
		room := c.space()
		c.mu.Unlock()
		select {
		case <-c.stop:
			return false
		default:
		}
		if room > 0 {
			return true
		}
		if !c.waitKick() {
			return false
		}
	}
}

// waitKick waits for the guest's next signal; false at Close.
func (c *Console) waitKick() bool {
	select {
	case <-c.stop:
		return false
	case <-c.room:
		return true
	}
}
