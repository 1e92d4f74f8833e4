// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"errors"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// runstateCopy is the guest's copy of a vCPU's runstate, and how to get there.
// The runstate's mutex guards it.
type runstateCopy struct {
	first, second gpc.Piece // what the guest has registered; first is empty if nothing
	width         abi.Width
	area          *gpc.Span   // the same, unless there was no memory yet
	reader        *gpc.Reader // not a vCPU's own: others change its state as well
	latch         *latch
	missing       bool // there was no memory, and none has come since
	scratch       [abi.RunstateSizeMax]byte
}

// publish brings the guest's copy up to date. If its memory is away, that is
// done when it is back. Callers hold mu.
func (r *runstate) publish(d *Domain) {
	c := &r.copy
	if c.first.N == 0 || c.missing {
		return
	}
	p := c.scratch[:r.encode(c.scratch[:], c.width)]
	flag := d.runstateFlag.Load()
	if c.write(p, flag) {
		return
	}
	c.latch.set()
	for range maxRefreshes {
		if err := c.reach(); err != nil {
			c.missing = !errors.Is(err, gpc.ErrBusy)
			return
		}
		if c.write(p, flag) {
			c.latch.clear()
			return
		}
	}
}

// reach makes the area valid.
func (c *runstateCopy) reach() error {
	err := c.area.Refresh()
	if errors.Is(err, gpc.ErrInactive) {
		err = c.area.Activate(c.first, c.second)
	}
	return err
}

// again publishes what could not be published before memory came back.
func (r *runstate) again(d *Domain) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.copy.missing = false
	r.publish(d)
}

// write stores p in the area. With the update flag assist, the top bit of
// state_entry_time is set before and cleared after the rest is written, so that
// a reader on another vCPU, who reads that word first and last, can tell
// (public/vcpu.h, XEN_RUNSTATE_UPDATE). Each of the two is an exchange of one
// byte, which never crosses a page and is a full barrier, so the order holds
// across both pages of the area. Should one be withdrawn in the middle, the flag
// is cleared nevertheless if it can be: no reader is to wait for memory to
// return, and the part that is old then is the part that nobody can read.
func (c *runstateCopy) write(p []byte, flag bool) bool {
	if !flag {
		return c.area.WriteAt(c.reader, p, 0)
	}
	top := abi.RunstateLayout(c.width).EntryTime + 7
	p[top] |= byte(abi.RunstateUpdateFlag >> 56)
	_, began := c.area.Xchg8(c.reader, top, p[top])
	written := began && c.area.WriteAt(c.reader, p, 0)
	p[top] &^= byte(abi.RunstateUpdateFlag >> 56)
	if !began {
		return false
	}
	_, ended := c.area.Xchg8(c.reader, top, p[top])
	return written && ended
}

// register replaces the area, by none if first is empty, and writes the present
// account to the new one.
func (r *runstate) register(d *Domain, first, second gpc.Piece, w abi.Width) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.copy.forget()
	r.copy.first, r.copy.second, r.copy.width = first, second, w
	if first.N != 0 {
		_ = r.copy.area.Activate(first, second) // without memory, publish sees to it
	}
	r.account(d.now(r.vcpu))
	r.publish(d)
}

func (c *runstateCopy) forget() {
	c.first, c.second, c.missing = gpc.Piece{}, gpc.Piece{}, false
	c.area.Deactivate()
}
