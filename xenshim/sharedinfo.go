// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"sync"

	"xenvmm/xenshim/abi"
)

// sharedState is what the domain knows of its shared_info page beside its
// contents.
type sharedState struct {
	mu      sync.Mutex
	latched bool // the width has been taken from a guest's mode
}

// mapSharedInfo shows the shared_info page at gfn. The first mapping latches
// the width unless something has before.
func (d *Domain) mapSharedInfo(c *call, gfn uint64) abi.Errno {
	if gfn >= gfnLimit {
		return abi.EINVAL
	}
	d.latchFirst(c.width)
	d.phys.mu.Lock()
	defer d.phys.mu.Unlock()
	return d.moveSharedInfo(func() abi.Errno {
		return d.phys.place(overlay{pages: d.sharedInfo}, gfn)
	})
}

// moveSharedInfo runs a change of the map that may move the shared_info page
// or take it away. Events keep out of the old place before the change, so that
// none is written to the memory that appears there, and are replayed at the
// new one. Callers hold phys.mu.
func (d *Domain) moveSharedInfo(change func() abi.Errno) abi.Errno {
	d.events.UnmapSharedInfo()
	e := change()
	if gfn, mapped := d.sharedInfo.GFN(0); mapped {
		if err := d.events.MapSharedInfo(gfn<<pageShift, d.events.Width()); err != nil && e == abi.OK {
			e = mapErrno(err)
		}
		d.UpdateWallClock()
	}
	d.updateSystemTimes()
	return e
}

// latchFirst takes the domain's width from the mode of the first guest code
// that shows one.
func (d *Domain) latchFirst(w abi.Width) {
	d.shared.mu.Lock()
	latched := d.shared.latched
	d.shared.mu.Unlock()
	if !latched {
		d.latchWidth(w)
	}
}

// latchWidth sets the domain's width from the mode of the guest code that asked
// for it. Bitmaps are not converted, as on Xen; the wall clock is written again
// where the new layout has it.
func (d *Domain) latchWidth(w abi.Width) {
	d.shared.mu.Lock()
	defer d.shared.mu.Unlock()
	changed := !d.shared.latched || d.events.Width() != w
	d.shared.latched = true
	if !changed {
		return
	}
	d.events.SetWidth(w)
	d.writeWallClock()
}

// writeWallClock stores the wall time at guest time 0 under its version, odd
// while it changes. The version is the guest's to spoil: it is read once and
// only counts up from there.
func (d *Domain) writeWallClock() {
	l := abi.Layout(d.events.Width())
	sec, nsec := d.cfg.Platform.WallClock()
	v, err := d.sharedInfo.Load32(0, l.WCVersion)
	if err != nil {
		return
	}
	odd := (v + 1) | 1
	for _, w := range [...]struct{ off, v uint32 }{
		{l.WCVersion, odd},
		{l.WCSec, uint32(sec)},
		{l.WCNsec, nsec},
		{l.WCSecHi, uint32(sec >> 32)},
		{l.WCVersion, odd + 1},
	} {
		if d.sharedInfo.Store32(0, w.off, w.v) != nil {
			return
		}
	}
}

// UpdateWallClock writes the wall clock again, after the host's was set.
func (d *Domain) UpdateWallClock() {
	d.shared.mu.Lock()
	defer d.shared.mu.Unlock()
	d.writeWallClock()
}

// updateSystemTimes tells the platform where every vCPU's pvclock lies now.
func (d *Domain) updateSystemTimes() {
	for _, v := range d.vcpus {
		d.updateSystemTime(v)
	}
}

// updateSystemTime does so for one vCPU. A place the platform can't use leaves
// the guest without a clock there, as an unmapped vcpu_info does.
func (d *Domain) updateSystemTime(v *VCPU) {
	gpa, ok := d.events.VCPUInfoGPA(v.id)
	if err := d.cfg.Platform.SetSystemTime(v.id, gpa+abi.VCPUInfoTime, ok); err != nil {
		d.log.Debug("pvclock not placed", "vcpu", v.id, "gpa", gpa, "error", err)
	}
}

// registerVCPUInfo is VCPUOP_register_vcpu_info: a vCPU's vcpu_info moves, for
// good, to a place in guest memory.
func (c *call) registerVCPUInfo(t *VCPU, ptr uint64) int64 {
	p, ok := c.arg(ptr, abi.RegisterVCPUInfoSize)
	if !ok {
		return errno(abi.EFAULT)
	}
	mfn, off := u64(p, abi.RegisterVCPUInfoMFN), u32(p, abi.RegisterVCPUInfoOff)
	if off > pageSize-abi.VCPUInfoSize {
		return errno(abi.ENXIO)
	}
	if mfn >= gfnLimit {
		return errno(abi.EINVAL)
	}
	e := c.d.events.RegisterVCPUInfo(c.reader, t.id, mfn<<pageShift|uint64(off))
	if e == abi.OK {
		c.d.updateSystemTime(t)
	}
	return errno(e)
}
