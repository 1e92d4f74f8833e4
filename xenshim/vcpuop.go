// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// vcpuOp is vcpu_op(cmd, vcpu, ptr). The vCPU is checked before anything else.
func (c *call) vcpuOp(a *args) int64 {
	id, ptr := a[1]&0xffff_ffff, a[2]
	if id >= uint64(len(c.d.vcpus)) {
		return errno(abi.ENOENT)
	}
	t := c.d.vcpus[id]
	switch uint32(a[0]) {
	case abi.VCPUOpInitialise:
		p, ok := c.arg(ptr, abi.VCPUContextSize)
		if !ok {
			return errno(abi.EFAULT)
		}
		x, e := decodeVCPUContext(p)
		if e == abi.OK {
			e = c.d.cfg.Platform.VCPUInitialise(t.id, x)
		}
		return errno(e)
	case abi.VCPUOpUp:
		t.leaving.Store(false)
		return errno(c.d.cfg.Platform.VCPUUp(t.id))
	case abi.VCPUOpDown:
		return c.vcpuDown(t)
	case abi.VCPUOpIsUp:
		if c.d.cfg.Platform.VCPUIsUp(t.id) {
			return 1
		}
		return 0
	case abi.VCPUOpGetRunstateInfo:
		n := t.run.snapshot(c.pageBuf[:], c.width, c.d.now(t.id))
		return c.putOut(ptr, c.pageBuf[:n])
	case abi.VCPUOpRegisterRunstateMemoryArea:
		return c.registerRunstate(t, ptr)
	case abi.VCPUOpRegisterRunstatePhysArea:
		return c.registerRunstatePhys(t, ptr)
	case abi.VCPUOpSetPeriodicTimer, abi.VCPUOpStopPeriodicTimer,
		abi.VCPUOpSetSingleshotTimer, abi.VCPUOpStopSingleshotTimer:
		return c.vcpuTimer(uint32(a[0]), t, ptr)
	case abi.VCPUOpRegisterVCPUInfo:
		return c.registerVCPUInfo(t, ptr)
	case abi.VCPUOpSendNMI:
		if ptr != 0 {
			return errno(abi.EINVAL)
		}
		return errno(c.d.cfg.Platform.SendNMI(t.id))
	case abi.VCPUOpGetPhysid:
		return errno(abi.EINVAL) // only for vCPUs pinned to a processor
	}
	// The time areas (13, 15) are among the rest: the pvclock of a vCPU is kept
	// by the host at one address only, and leaf 3 of CPUID tells the guest to
	// use the TSC instead.
	return errno(abi.ENOSYS)
}

// vcpuDown takes a vCPU down. The last one takes the domain with it. Two that
// go down at once must not each take the other for the one that stays, so each
// first says that it is going; no lock is held, since the platform may have to
// wait for a vCPU that is in a call like this one.
func (c *call) vcpuDown(t *VCPU) int64 {
	p := c.d.cfg.Platform
	t.leaving.Store(true)
	if c.lastUp(t) {
		c.shutdown(abi.ShutdownPoweroff)
		return 0
	}
	if e := p.VCPUDown(t.id); e != abi.OK {
		t.leaving.Store(false)
		return errno(e)
	}
	t.run.change(c.d, abi.RunstateOffline)
	if t == c.VCPU {
		// It counts as up until its thread has parked: leaving stands till then.
		c.out.merge(Outcome{Kind: Offline})
	} else {
		t.leaving.Store(false)
	}
	return 0
}

// lastUp reports whether no vCPU but t stays up.
func (c *call) lastUp(t *VCPU) bool {
	for _, o := range c.d.vcpus {
		if o != t && !o.leaving.Load() && c.d.cfg.Platform.VCPUIsUp(o.id) {
			return false
		}
	}
	return true
}

// vcpuTimer holds the four timer commands. Only the periodic timer of another
// vCPU may be touched.
func (c *call) vcpuTimer(cmd uint32, t *VCPU, ptr uint64) int64 {
	switch cmd {
	case abi.VCPUOpSetPeriodicTimer:
		p, ok := c.arg(ptr, abi.PeriodicTimerSize)
		if !ok {
			return errno(abi.EFAULT)
		}
		return errno(c.d.timers.SetPeriodic(t.id, u64(p, 0)))
	case abi.VCPUOpStopPeriodicTimer:
		return errno(c.d.timers.StopPeriodic(t.id))
	}
	if t != c.VCPU {
		return errno(abi.EINVAL)
	}
	if cmd == abi.VCPUOpStopSingleshotTimer {
		return errno(c.d.timers.StopSingleshot(t.id))
	}
	l := abi.SetSingleshotTimerLayout(c.width)
	p, ok := c.arg(ptr, l.Size)
	if !ok {
		return errno(abi.EFAULT)
	}
	return errno(c.d.timers.SetSingleshot(t.id, u64(p, l.Timeout)))
}
