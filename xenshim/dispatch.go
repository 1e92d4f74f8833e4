// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// args are the six argument registers of a hypercall.
type args [6]uint64

// handler runs one hypercall and returns its result, negative for an error.
type handler func(c *call, a *args) int64

// errno turns an error number into a result.
func errno(e abi.Errno) int64 { return e.Result() }

// handlerOf maps hypercall numbers to handlers. A number without one gives
// -ENOSYS, as a hypercall that is absent from Xen's table for HVM guests does;
// that includes those only a control domain may use (platform_op, sysctl,
// domctl), and those not offered here (mmuext_op, xsm_op, argo_op, xenpmu_op,
// dm_op, hypfs_op).
func handlerOf(nr uint64) handler {
	switch nr {
	case abi.HypercallMemoryOp:
		return (*call).memoryOp
	case abi.HypercallMulticall:
		return (*call).multicall
	case abi.HypercallSetTimerOp:
		return (*call).setTimerOp
	case abi.HypercallXenVersion:
		return (*call).xenVersion
	case abi.HypercallConsoleIO:
		return (*call).consoleIO
	case abi.HypercallGrantTableOp:
		return (*call).grantTableOp
	case abi.HypercallVMAssist:
		return (*call).vmAssist
	case abi.HypercallVCPUOp:
		return (*call).vcpuOp
	case abi.HypercallSchedOp:
		return (*call).schedOp
	case abi.HypercallEventChannelOp:
		return (*call).eventChannelOp
	case abi.HypercallPhysdevOp:
		return (*call).physdevOp
	case abi.HypercallHVMOp:
		return (*call).hvmOp
	}
	return nil
}

// Hypercall runs the hypercall the registers describe and writes its result to
// r.RAX. Called on the vCPU's own thread with the vCPU outside the guest.
//
// The convention follows the mode the vCPU is in now, not the latched width:
// 64-bit code passes the number in RAX and arguments in RDI, RSI, RDX, R10,
// R8, R9; all other code in EAX and EBX, ECX, EDX, ESI, EDI, EBP. A caller at
// CPL>0 or in VM86 mode gets -EPERM in the whole of RAX and nothing is
// dispatched; real mode is allowed. A 32-bit caller's result is EAX, the upper
// half of RAX zero.
func (v *VCPU) Hypercall(r *Registers, s *CPUState) Outcome {
	if !s.realMode() && (s.CPL != 0 || s.vm86()) {
		r.RAX = uint64(errno(abi.EPERM))
		return Outcome{}
	}
	c := &v.call
	c.s, c.out, c.budget, c.multi, c.polling = s, Outcome{}, workBudget, false, false
	nr := r.RAX
	if s.long() {
		c.width = abi.Width64
		c.args = args{r.RDI, r.RSI, r.RDX, r.R10, r.R8, r.R9}
	} else {
		c.width = abi.Width32
		nr &= linear32Mask
		c.args = args{r.RBX, r.RCX, r.RDX, r.RSI, r.RDI, r.RBP}
		for i := range c.args {
			c.args[i] &= linear32Mask
		}
	}
	res := c.dispatch(nr, &c.args)
	if c.width == abi.Width64 {
		r.RAX = uint64(res)
	} else {
		r.RAX = uint64(uint32(res))
	}
	if c.polling && c.out.Kind != Poll {
		v.PollDone() // a later entry of a multicall took the vCPU elsewhere
	}
	c.s = nil
	return c.out
}

// dispatch runs hypercall nr.
func (c *call) dispatch(nr uint64, a *args) int64 {
	h := handlerOf(nr)
	if h == nil {
		return errno(abi.ENOSYS)
	}
	return h(c, a)
}
