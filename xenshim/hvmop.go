// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// hvmOp is hvm_op(cmd, ptr).
func (c *call) hvmOp(a *args) int64 {
	ptr := a[1]
	switch uint32(a[0]) {
	case abi.HVMOpSetParam:
		return c.hvmParam(ptr, true)
	case abi.HVMOpGetParam:
		return c.hvmParam(ptr, false)
	case abi.HVMOpPagetableDying:
		// A hint for shadow paging, which is not used here. Guests probe for it
		// and go without.
		p, ok := c.arg(ptr, abi.HVMPagetableDyingSize)
		if !ok {
			return errno(abi.EFAULT)
		}
		switch c.d.self(u16(p, 0)) {
		case abi.ESRCH:
			return errno(abi.ESRCH)
		case abi.EPERM:
			return errno(abi.EOPNOTSUPP)
		}
		return errno(abi.EINVAL)
	case abi.HVMOpGetTime:
		p := c.zeroed(abi.HVMGetTimeSize)
		putU64(p, 0, c.d.now(c.id))
		return c.putOut(ptr, p)
	case abi.HVMOpXentrace:
		// Tracing is off; the record is only checked.
		p, ok := c.arg(ptr, abi.HVMXentraceSize)
		if !ok {
			return errno(abi.EFAULT)
		}
		if u16(p, abi.HVMXentraceBytes) > abi.HVMXentraceExtraMax ||
			u16(p, abi.HVMXentraceEvent)&^abi.HVMXentraceEventMask != 0 {
			return errno(abi.EINVAL)
		}
		return 0
	case abi.HVMOpSetEvtchnUpcallVector:
		return c.setUpcallVector(ptr)
	}
	return errno(abi.ENOSYS)
}

// setUpcallVector gives a vCPU its own event vector and asserts an event on
// it, so that nothing pending before is missed.
func (c *call) setUpcallVector(ptr uint64) int64 {
	p, ok := c.arg(ptr, abi.HVMUpcallVectorSize)
	if !ok {
		return errno(abi.EFAULT)
	}
	vcpu, vector := u32(p, abi.HVMUpcallVectorVCPU), p[abi.HVMUpcallVectorVector]
	if vector < abi.UpcallVectorMin {
		return errno(abi.EINVAL)
	}
	if uint64(vcpu) >= uint64(len(c.d.vcpus)) {
		return errno(abi.ENOENT)
	}
	c.d.cfg.Platform.SetUpcallVector(int(vcpu), vector)
	c.d.events.SetSpurious(c.reader, int(vcpu))
	return 0
}
