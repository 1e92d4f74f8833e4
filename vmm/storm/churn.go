// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"xenvmm/vmm/kvm"
	"xenvmm/vmm/memory"
)

// Where the scratch slot is: in the 32-bit hole, where no device is.
const (
	scratchGPA   = 0xd0000000
	scratchMoved = 0xd4000000
	scratchSize  = 1 << 20
)

// churner changes memory for as long as it is let.
type churner struct {
	mem    *memory.Memory
	frames func() []uint64 // guest frames that deliveries write to
	remaps atomic.Uint64
}

func (c *churner) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := c.scratch(); err != nil {
			return fmt.Errorf("scratch slot: %w", err)
		}
		for _, gfn := range c.frames() {
			if err := c.frame(gfn); err != nil {
				return err
			}
		}
	}
	return nil
}

// scratch takes a slot that nobody uses through all it can do.
func (c *churner) scratch() error {
	s, err := c.mem.AddSlot("scratch", scratchGPA, scratchSize, 0)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return s.Move(scratchMoved) },
		func() error { return s.Resize(2 * scratchSize) },
		func() error { return s.SetFlags(kvm.MemLogDirtyPages) },
		s.Delete,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// frame gives a frame another place on the host. The guest may move it away
// meanwhile, which is no fault of anybody's.
func (c *churner) frame(gfn uint64) error {
	if _, _, overlay := c.mem.Overlay(gfn); overlay && !inRAM(c.mem, gfn) {
		if err := c.mem.Rehome(gfn); err != nil && !gone(err) {
			return fmt.Errorf("rehome frame %#x: %w", gfn, err)
		}
		return nil
	}
	if err := c.mem.Remap(gfn*memory.PageSize, memory.PageSize); err != nil && !gone(err) {
		return fmt.Errorf("remap frame %#x: %w", gfn, err)
	}
	c.remaps.Add(1)
	return nil
}

// gone tells that the guest has moved the frame away in the meantime.
func gone(err error) bool {
	return errors.Is(err, memory.ErrNotMapped) || errors.Is(err, memory.ErrNoMemory) || errors.Is(err, memory.ErrRange)
}

func inRAM(m *memory.Memory, gfn uint64) bool {
	gpa := gfn * memory.PageSize
	for _, r := range m.Ranges() {
		if gpa >= r.GPA && gpa < r.End() {
			return true
		}
	}
	return false
}
