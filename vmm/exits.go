// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"sync/atomic"

	"xenvmm/vmm/kvm"
	"xenvmm/vmm/vcpu"
	"xenvmm/xenshim"
)

// exits is the machine as its vCPUs see it (vcpu.Machine).
type exits struct{ m *Machine }

// cpuScratch is what one vCPU's thread needs for a hypercall; kept here because
// it would be allocated anew for every call otherwise.
type cpuScratch struct {
	regs  xenshim.Registers
	state xenshim.CPUState
	call  *kvm.XenExit // of a call that KVM intercepted, else nil
	clock readClock

	intercepts atomic.Uint64 // such calls
	_          [64]byte
}

func (e exits) Port(_ int, out bool, port uint16, size, _ int, data []byte) {
	if out {
		e.m.devices.ports.Out(port, size, data)
	} else {
		e.m.devices.ports.In(port, size, data)
	}
}

func (e exits) MMIO(_ int, write bool, gpa uint64, data []byte) {
	if write {
		e.m.devices.mmio.Write(gpa, data)
	} else {
		e.m.devices.mmio.Read(gpa, data)
	}
}

func (e exits) HypercallPort() uint16 { return xenshim.HypercallPort }

func (e exits) Hypercall(v int, r *kvm.Regs, s *kvm.Sregs) vcpu.Action {
	m := e.m
	m.online.ran(v)
	c := &m.scratch[v]
	c.regs = xenshim.Registers{
		RAX: r.RAX, RBX: r.RBX, RCX: r.RCX, RDX: r.RDX, RSI: r.RSI,
		RDI: r.RDI, RBP: r.RBP, R8: r.R8, R9: r.R9, R10: r.R10,
	}
	c.state = cpuState(r, s)
	if c.call != nil {
		c.intercepted()
	}
	nr, cmd := c.number()
	follow := m.kernel != nil && concerns(nr, cmd)
	if setsTimers(nr, cmd) {
		m.clocks.look(v, c.clock)
	}
	out := m.domain.VCPU(v).Hypercall(&c.regs, &c.state)
	if r.RAX = c.regs.RAX; c.call != nil {
		c.call.Complete(r.RAX)
	}
	m.times.others(v, m.applyTime)
	if follow {
		m.kernel.followOrEnd(v)
	}
	switch out.Kind {
	case xenshim.Yield:
		return vcpu.Yield
	case xenshim.Block:
		if m.kernel != nil && r.RFLAGS&rflagsIF == 0 {
			m.polls.Arm(v, m.kernel.boundWait(v, 0))
		}
		return vcpu.Wait
	case xenshim.Poll:
		if out.Deadline = m.kernel.boundWait(v, out.Deadline); out.Deadline != 0 {
			m.polls.Arm(v, out.Deadline)
		}
		return vcpu.Wait
	case xenshim.Offline:
		return vcpu.Park
	case xenshim.Shutdown:
		if m.softReset.Swap(false) {
			m.resetXen(v)
		}
	}
	return vcpu.Resume
}

// number is the hypercall's, with its first argument.
func (c *cpuScratch) number() (nr uint64, cmd uint32) {
	if c.state.CSLong {
		return c.regs.RAX, uint32(c.regs.RDI)
	}
	return uint64(uint32(c.regs.RAX)), uint32(c.regs.RBX)
}

func cpuState(r *kvm.Regs, s *kvm.Sregs) xenshim.CPUState {
	return xenshim.CPUState{
		CR0: s.CR0, CR3: s.CR3, CR4: s.CR4, EFER: s.EFER, RFLAGS: r.RFLAGS,
		CSLong: s.CS.L != 0, CPL: s.SS.DPL,
	}
}

func (e exits) WaitOver(v int) {
	e.m.polls.Disarm(v)
	e.m.domain.VCPU(v).PollDone()
}

func (e exits) ReadMSR(v int, index uint32) (uint64, bool) {
	return e.m.domain.VCPU(v).ReadMSR(index)
}

func (e exits) WriteMSR(v int, index uint32, value uint64) bool {
	m := e.m
	m.online.ran(v)
	k := m.kvms[v]
	m.scratch[v].state = cpuState(k.RunRegs(), k.RunSregs())
	ok := m.domain.VCPU(v).WriteMSR(index, value, &m.scratch[v].state)
	m.kernel.followOrEnd(v) // the domain's width may be another
	return ok
}

func (e exits) Started(v int) { e.m.domain.VCPU(v).Started() }
func (e exits) Ended(v int)   { e.m.domain.VCPU(v).Ended() }

func (e exits) Entering(v int, c *vcpu.VCPU) error {
	m := e.m
	if err := m.times.apply(v, m.kvms[v]); err != nil {
		m.cfg.Log.Debug("the guest's time area cannot be kept there", "vcpu", v, "err", err)
	}
	m.domain.VCPU(v).Entering()
	err := m.irq.Enter(v, c)
	m.owed.check()
	return err
}

// Reset has the vCPU's pvclock set anew: KVM forgets where it is.
func (e exits) Reset(v int) { e.m.times.again(v) }

func (e exits) Exited(v int) { e.m.domain.VCPU(v).Exited() }
