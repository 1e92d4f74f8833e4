// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// schedOp is sched_op(cmd, ptr).
func (c *call) schedOp(a *args) int64 {
	ptr := a[1]
	switch uint32(a[0]) {
	case abi.SchedopYield:
		c.out.merge(Outcome{Kind: Yield})
		return 0
	case abi.SchedopBlock:
		// An event that is pending already would not wake the vCPU again.
		if !c.d.events.UpcallPending(c.reader, c.id) {
			c.out.merge(Outcome{Kind: Block})
			c.waiting(Block)
		}
		return 0
	case abi.SchedopShutdown:
		p, ok := c.arg(ptr, abi.SchedShutdownSize)
		if !ok {
			return errno(abi.EFAULT)
		}
		return c.schedShutdown(u32(p, 0) & 0xff) // Xen keeps 8 bits
	case abi.SchedopPoll:
		return c.poll(ptr)
	case abi.SchedopRemoteShutdown:
		return c.remoteShutdown(ptr)
	case abi.SchedopShutdownCode:
		p, ok := c.arg(ptr, abi.SchedShutdownSize)
		if !ok {
			return errno(abi.EFAULT)
		}
		c.d.setShutdownCode(u32(p, 0) & 0xff)
		return 0
	case abi.SchedopWatchdog:
		p, ok := c.arg(ptr, abi.SchedWatchdogSize)
		if !ok {
			return errno(abi.EFAULT)
		}
		return c.d.watchdogs.set(u32(p, 0), u32(p, 4))
	case abi.SchedopPinOverride:
		return errno(abi.EPERM)
	}
	return errno(abi.ENOSYS)
}

// schedShutdown handles a shutdown request. A suspend is cancelled at once
// (result 1), since there is nothing to suspend to; the guest goes on as after
// a failed migration. After a soft reset the calling vCPU goes on too.
func (c *call) schedShutdown(reason uint32) int64 {
	if reason == abi.ShutdownSuspend {
		return 1
	}
	c.shutdown(reason)
	return 0
}

// shutdown ends the domain. A shutdown code set earlier by the guest overrides
// the reason.
func (c *call) shutdown(reason uint32) {
	c.d.cfg.Platform.Shutdown(c.d.shutdownReason(reason))
	c.out.merge(Outcome{Kind: Shutdown})
}

// remoteShutdown is for device models; a guest may not even use it on itself.
// DOMID_SELF is not accepted here.
func (c *call) remoteShutdown(ptr uint64) int64 {
	p, ok := c.arg(ptr, abi.SchedRemoteShutdownSize)
	if !ok {
		return errno(abi.EFAULT)
	}
	if id := abi.DomID(u16(p, 0)); id != c.d.cfg.DomID && id != abi.DomIDBackend {
		return errno(abi.ESRCH)
	}
	return errno(abi.EPERM)
}

// noShutdownCode means that the guest has set none.
const noShutdownCode = ^uint32(0)

// setShutdownCode records a reason for a shutdown to come.
func (d *Domain) setShutdownCode(code uint32) { d.shutdownCode.Store(code) }

// shutdownReason is the code recorded, or else reason.
func (d *Domain) shutdownReason(reason uint32) uint32 {
	if code := d.shutdownCode.Load(); code != noShutdownCode {
		return code
	}
	return reason
}
