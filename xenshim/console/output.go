// SPDX-License-Identifier: Apache-2.0

package console

import (
	"io"

	"xenvmm/xenshim/abi"
)

var outRing = ring{abi.ConsoleOut, abi.ConsoleOutSize}

// output is the state of the guest-to-host direction.
type output struct {
	out    io.Writer
	cons   uint32 // output bytes taken
	untold bool   // the page does not show cons yet
	failed bool   // out returned an error: output is discarded
	buf    [abi.ConsoleOutSize]byte
}

// drain moves one ring's worth of output at most. It reports whether it moved
// any; the guest was signalled then.
func (c *Console) drain() bool {
	if !c.begin() {
		return false
	}
	if c.untold {
		if !c.publish(c.cons) {
			return false
		}
		c.notify()
	}
	prod, err := c.page.Load32(abi.ConsoleOutProd)
	if err != nil {
		c.log.Debug("console output", "err", err)
		return false
	}
	n := prod - c.cons
	if n == 0 {
		return false
	}
	if n > abi.ConsoleOutSize {
		// The guest's index is broken: nothing in the ring can be told apart.
		c.log.Debug("console output index out of range", "producer", prod, "consumer", c.cons)
		c.publish(prod)
		return false
	}
	if err := outRing.read(c.page, c.buf[:n], c.cons); err != nil {
		c.log.Debug("console output", "err", err)
		return false
	}
	c.emit(c.buf[:n])
	if !c.publish(c.cons + n) {
		return false
	}
	c.notify()
	return true
}

// publish notes how much has been taken and shows it to the guest. What has been
// handed to the writer must not be taken again, so it is noted even if the page
// can't be written, and shown later.
func (c *Console) publish(cons uint32) bool {
	c.cons, c.untold = cons, true
	if err := c.page.Store32(abi.ConsoleOutCons, cons); err != nil {
		c.log.Debug("console output", "err", err)
		return false
	}
	c.untold = false
	return true
}

// emit writes p. After an error output is dropped, so that the guest doesn't
// stop for want of a reader.
func (c *Console) emit(p []byte) {
	if c.failed {
		return
	}
	if _, err := c.out.Write(p); err != nil {
		c.failed = true
		c.log.Warn("console output is discarded from now on", "err", err)
	}
}

// last takes what is in the ring when the console closes. One pass is all a
// stopped guest can have left.
func (c *Console) last() {
	c.drain()
	if err := c.page.WriteAt([]byte{abi.ConsoleDisconnected}, abi.ConsoleConnection); err != nil {
		c.log.Debug("console page not accessible", "err", err)
	}
}
