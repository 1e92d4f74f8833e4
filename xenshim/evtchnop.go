// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// eventChannelOp is event_channel_op(cmd, ptr): it copies the arguments, calls
// the table, and writes results back. A result that can't be written is
// -EFAULT although the operation took place, as on Xen.
func (c *call) eventChannelOp(a *args) int64 {
	cmd, ptr := uint32(a[0]), a[1]
	size, ok := evtchnArgSize(cmd)
	if !ok {
		return errno(abi.ENOSYS)
	}
	p, ok := c.arg(ptr, size)
	if !ok {
		return errno(abi.EFAULT)
	}
	ev := c.d.events
	switch cmd {
	case abi.EvtchnopSend:
		return errno(ev.Send(c.reader, u32(p, 0)))
	case abi.EvtchnopUnmask:
		return errno(ev.Unmask(c.reader, c.id, u32(p, 0)))
	case abi.EvtchnopClose:
		return errno(ev.ClosePort(u32(p, 0)))
	case abi.EvtchnopBindVCPU:
		return errno(ev.BindVCPU(u32(p, 0), u32(p, 4)))
	case abi.EvtchnopReset:
		return errno(ev.Reset(c.reader, abi.DomID(u16(p, 0))))
	case abi.EvtchnopExpandArray:
		return errno(ev.ExpandArray(u64(p, 0)))
	case abi.EvtchnopSetPriority:
		return errno(ev.SetPriority(u32(p, 0), u32(p, 4)))
	case abi.EvtchnopStatus:
		return c.evtchnStatus(ptr, p)
	case abi.EvtchnopInitControl:
		bits, e := ev.InitControl(u64(p, 0), u32(p, 8), u32(p, 12))
		p[16] = bits
		return c.putResult(ptr, p, e)
	}
	return c.evtchnBind(cmd, ptr, p)
}

// evtchnBind holds the operations that return a new port.
func (c *call) evtchnBind(cmd uint32, ptr uint64, p []byte) int64 {
	ev := c.d.events
	var port uint32
	var e abi.Errno
	at := uint32(8)
	switch cmd {
	case abi.EvtchnopBindInterdomain:
		port, e = ev.BindInterdomain(c.reader, c.id, abi.DomID(u16(p, 0)), u32(p, 4))
	case abi.EvtchnopBindVIRQ:
		port, e = ev.BindVIRQ(u32(p, 0), u32(p, 4))
	case abi.EvtchnopBindPIRQ:
		port, e = ev.BindPIRQ(u32(p, 0), u32(p, 4))
	case abi.EvtchnopAllocUnbound:
		port, e = ev.AllocUnbound(abi.DomID(u16(p, 0)), abi.DomID(u16(p, 2)))
		at = 4
	case abi.EvtchnopBindIPI:
		port, e = ev.BindIPI(u32(p, 0))
		at = 4
	}
	putU32(p, at, port)
	return c.putResult(ptr, p, e)
}

// evtchnStatus writes struct evtchn_status; the part of the union that the
// state doesn't use is zero.
func (c *call) evtchnStatus(ptr uint64, p []byte) int64 {
	st, e := c.d.events.Status(abi.DomID(u16(p, 0)), u32(p, 4))
	if e != abi.OK {
		return errno(e)
	}
	putU32(p, 8, st.State)
	putU32(p, 12, st.VCPU)
	putU64(p, 16, 0)
	switch st.State {
	case abi.EvtchnStatUnbound:
		putU16(p, 16, uint16(st.Dom))
	case abi.EvtchnStatInterdomain:
		putU16(p, 16, uint16(st.Dom))
		putU32(p, 20, st.Port)
	case abi.EvtchnStatPIRQ:
		putU32(p, 16, st.PIRQ)
	case abi.EvtchnStatVIRQ:
		putU32(p, 16, st.VIRQ)
	}
	return c.putOut(ptr, p)
}

// putResult writes p back if the operation succeeded.
func (c *call) putResult(ptr uint64, p []byte, e abi.Errno) int64 {
	if e != abi.OK {
		return errno(e)
	}
	return c.putOut(ptr, p)
}

// evtchnArgSize is the size of a command's argument; false for no such command.
func evtchnArgSize(cmd uint32) (uint32, bool) {
	sizes := [...]uint32{
		abi.EvtchnopBindInterdomain: abi.EvtchnBindInterdomainSize,
		abi.EvtchnopBindVIRQ:        abi.EvtchnBindVIRQSize,
		abi.EvtchnopBindPIRQ:        abi.EvtchnBindPIRQSize,
		abi.EvtchnopClose:           abi.EvtchnPortSize,
		abi.EvtchnopSend:            abi.EvtchnPortSize,
		abi.EvtchnopStatus:          abi.EvtchnStatusSize,
		abi.EvtchnopAllocUnbound:    abi.EvtchnAllocUnboundSize,
		abi.EvtchnopBindIPI:         abi.EvtchnBindIPISize,
		abi.EvtchnopBindVCPU:        abi.EvtchnBindVCPUSize,
		abi.EvtchnopUnmask:          abi.EvtchnPortSize,
		abi.EvtchnopReset:           abi.EvtchnResetSize,
		abi.EvtchnopInitControl:     abi.EvtchnInitControlSize,
		abi.EvtchnopExpandArray:     abi.EvtchnExpandArraySize,
		abi.EvtchnopSetPriority:     abi.EvtchnSetPrioritySize,
	}
	if cmd >= uint32(len(sizes)) {
		return 0, false
	}
	return sizes[cmd], true
}
