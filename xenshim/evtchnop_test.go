// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"testing"

	"xenvmm/xenshim/abi"
)

func (m *machine) ev(cmd, ptr uint64) int64 {
	m.t.Helper()
	return m.call(abi.HypercallEventChannelOp, cmd, ptr)
}

func TestEventChannelOp(t *testing.T) {
	eachWidth(t, func(t *testing.T, m *machine) {
		m.mapShared(sharedGFN)
		for cmd := range uint64(14) {
			m.want("unmapped", m.ev(cmd, unmapped), abi.EFAULT)
		}
		m.want("unknown", m.ev(14, argAt), abi.ENOSYS)
		m.want("unknown", m.ev(0xffff_ffff, argAt), abi.ENOSYS)
		for _, cmd := range []uint64{abi.EvtchnopInitControl, abi.EvtchnopExpandArray, abi.EvtchnopSetPriority} {
			m.want("FIFO", m.ev(cmd, argAt), abi.ENOSYS)
		}

		// virq
		virq := func(v, vcpu uint64) int64 { return m.ev(abi.EvtchnopBindVIRQ, m.arg(f32(0, v), f32(4, vcpu))) }
		m.want("virq", virq(abi.VIRQTimer, 1), abi.OK)
		timer := m.r32(argAt + 8)
		m.want("virq twice", virq(abi.VIRQTimer, 1), abi.EEXIST)
		m.want("virq 24", virq(24, 0), abi.EINVAL)
		m.want("virq on no vcpu", virq(abi.VIRQTimer, 4), abi.ENOENT)
		m.want("pirq", m.ev(abi.EvtchnopBindPIRQ, m.arg(f32(0, 16))), abi.EINVAL)

		// status of each kind
		status := func(dom, port uint64) int64 {
			return m.ev(abi.EvtchnopStatus, m.arg(f16(0, dom), f32(4, port), f64(8, ^uint64(0)), f64(16, ^uint64(0))))
		}
		m.want("status", status(uint64(abi.DomIDSelf), uint64(timer)), abi.OK)
		if m.r32(argAt+8) != abi.EvtchnStatVIRQ || m.r32(argAt+12) != 1 || m.r64(argAt+16) != abi.VIRQTimer {
			t.Errorf("virq status % x", m.read(argAt, 24))
		}
		un := m.unbound()
		m.want("status", status(7, uint64(un)), abi.OK)
		if m.r32(argAt+8) != abi.EvtchnStatUnbound || m.r32(argAt+12) != 0 || m.r64(argAt+16) != uint64(m.d.cfg.DomID) {
			t.Errorf("unbound status % x", m.read(argAt, 24))
		}
		m.want("closed", status(7, 0), abi.OK)
		if m.r32(argAt+8) != abi.EvtchnStatClosed || m.r64(argAt+16) != 0 {
			t.Errorf("closed status % x", m.read(argAt, 24))
		}
		m.want("no such domain", status(8, 1), abi.ESRCH)
		m.want("no such port", status(7, 4096), abi.EINVAL)

		// the store's port is connected to the control domain
		store := m.d.params.get(abi.HVMParamStoreEvtchn)
		m.want("status", status(7, store), abi.OK)
		if m.r32(argAt+8) != abi.EvtchnStatInterdomain || m.r32(argAt+16)&0xffff != 0 || m.r32(argAt+20) == 0 {
			t.Errorf("store status % x", m.read(argAt, 24))
		}

		// interdomain to oneself
		m.want("bind", m.ev(abi.EvtchnopBindInterdomain, m.arg(f16(0, uint64(abi.DomIDSelf)), f32(4, uint64(un)))), abi.OK)
		other := m.r32(argAt + 8)
		m.want("send", m.sendPort(other), abi.OK)
		if m.r64(sharedGFN<<pageShift+0x800)&(1<<un) == 0 {
			t.Error("the other end is not pending")
		}
		m.want("bind_vcpu", m.ev(abi.EvtchnopBindVCPU, m.arg(f32(0, uint64(un)), f32(4, 1))), abi.OK)
		m.want("bind_vcpu, no vcpu", m.ev(abi.EvtchnopBindVCPU, m.arg(f32(0, uint64(un)), f32(4, 9))), abi.ENOENT)
		m.want("unmask", m.ev(abi.EvtchnopUnmask, m.arg(f32(0, uint64(un)))), abi.OK)
		m.want("unmask, no port", m.ev(abi.EvtchnopUnmask, m.arg(f32(0, 5000))), abi.EINVAL)
		m.want("close", m.ev(abi.EvtchnopClose, m.arg(f32(0, uint64(un)))), abi.OK)
		m.want("close again", m.ev(abi.EvtchnopClose, m.arg(f32(0, uint64(un)))), abi.EINVAL)
		m.want("send on a closed port", m.sendPort(un), abi.EINVAL)
		m.want("send on a virq", m.sendPort(timer), abi.EINVAL)
		m.want("reset, other domain", m.ev(abi.EvtchnopReset, m.arg(f16(0, 8))), abi.ESRCH)
		m.want("reset", m.ev(abi.EvtchnopReset, m.arg(f16(0, uint64(abi.DomIDSelf)))), abi.OK)
		m.want("nothing is left", m.ev(abi.EvtchnopClose, m.arg(f32(0, store))), abi.EINVAL)

		// results into read-only memory: done, but not told
		if m.width == abi.Width64 {
			pt := uint64(tables + 0x3000)
			m.w64(tables+0x1000+8*3, tables+0x2000|ptePresent|pteWrite)
			m.w64(tables+0x2000, pt|ptePresent|pteWrite)
			m.w64(pt, 0x40_0000|ptePresent)
			m.want("bind_ipi", m.ev(abi.EvtchnopBindIPI, 3<<30), abi.EFAULT)
		}
	})
}
