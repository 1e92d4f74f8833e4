// SPDX-License-Identifier: Apache-2.0

package vcpu

import (
	"fmt"

	"golang.org/x/sys/unix"

	"xenvmm/vmm/kvm"
)

// exit serves one exit of the guest; a Stop ends the machine.
func (v *VCPU) exit() *Stop {
	e := v.kvm.Exit()
	if e.Reason != kvm.ExitShutdown { // of a vCPU that died, what it did before is of use
		v.exits.add(e.Reason, v.kvm.RunRegs().RIP)
	}
	if e.Err != nil {
		return hostError(e.Err)
	}
	if v.waiting {
		// The guest ran, so an interrupt ended the wait inside KVM.
		v.waitIsOver()
	}
	switch e.Reason {
	case kvm.ExitIO:
		io := &e.IO
		if io.Out && io.Port == v.machine.HypercallPort() && io.Size == 4 && io.Count == 1 {
			return v.hypercall()
		}
		v.machine.Port(v.id, io.Out, io.Port, int(io.Size), int(io.Count), io.Data)
	case kvm.ExitMMIO:
		m := &e.MMIO
		v.machine.MMIO(v.id, m.Write, m.GPA, m.Data[:m.Len])
	case kvm.ExitRDMSR:
		value, ok := v.machine.ReadMSR(v.id, e.MSR.Index)
		e.MSR.Complete(value, !ok)
	case kvm.ExitWRMSR:
		e.MSR.Complete(0, !v.machine.WriteMSR(v.id, e.MSR.Index, e.MSR.Data))
	case kvm.ExitIRQWindowOpen, kvm.ExitIntr, kvm.ExitHLT, kvm.ExitNMI, kvm.ExitSetTPR:
		// Nothing to do outside: the next entry goes on from here.
	default:
		return fatal(e)
	}
	return nil
}

func (v *VCPU) hypercall() *Stop {
	// The instruction is finished by the next KVM_RUN, so RIP stays as it was
	// read: KVM-PVM reports it behind the OUT, other hosts at it.
	r := v.kvm.RunRegs()
	// A Wake from here on counts: whatever came before, the call itself sees.
	v.woken.Store(false)
	v.mayWait.Store(true)
	action := v.machine.Hypercall(v.id, r, v.kvm.RunSregs())
	v.kvm.MarkRegsDirty()
	if action != Wait {
		v.mayWait.Store(false)
	}
	switch action {
	case Yield:
		yield()
	case Wait:
		v.waiting = true
		return v.setState(kvm.MPHalted)
	case Park:
		return v.setState(kvm.MPUninitialized)
	}
	return nil
}

func (v *VCPU) setState(s kvm.MPState) *Stop {
	if err := v.kvm.SetMPState(s); err != nil {
		return hostError(err)
	}
	return nil
}

// endWait makes a vCPU that Wake was called for run again.
func (v *VCPU) endWait() error {
	v.waitIsOver()
	s, err := v.kvm.MPState()
	if err != nil || s != kvm.MPHalted {
		return err
	}
	return v.kvm.SetMPState(kvm.MPRunnable)
}

func (v *VCPU) waitIsOver() {
	v.waiting = false
	v.mayWait.Store(false)
	v.machine.WaitOver(v.id)
}

// fatal turns an exit that nothing can be done about into a Stop.
func fatal(e *kvm.Exit) *Stop {
	switch e.Reason {
	case kvm.ExitShutdown:
		return &Stop{Reason: StopTripleFault, Detail: "triple fault: an exception while the guest's double fault handler was being called"}
	case kvm.ExitSystemEvent:
		return &Stop{Reason: StopSystemEvent, Code: e.SystemEvent.Type, Detail: fmt.Sprintf("system event %d", e.SystemEvent.Type)}
	case kvm.ExitInternalError:
		var buf [15]byte
		d := fmt.Sprintf("KVM internal error, suberror %d", e.Internal.Suberror)
		if insn := e.Internal.Instruction(&buf); insn != nil {
			d = fmt.Sprintf("KVM could not emulate the instruction % x", insn)
		}
		return &Stop{Reason: StopEmulation, Detail: d}
	case kvm.ExitFailEntry:
		return &Stop{Reason: StopEntry, Detail: fmt.Sprintf("the processor refused to enter the guest, hardware reason %#x on host CPU %d", e.FailEntry.HardwareReason, e.FailEntry.CPU)}
	}
	return &Stop{Reason: StopUnknownExit, Detail: fmt.Sprintf("unexpected exit %s", e.Reason)}
}

// yield gives the host CPU away once, for a guest that waits for another vCPU.
func yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
