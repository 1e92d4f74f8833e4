// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"errors"
	"fmt"
)

// Capability is one row of Probe: something of KVM this VMM can use.
type Capability struct {
	Cap       Cap
	Name      string // the kernel's, with a word on what part of it is meant
	MinKernel string // first Linux release that has it on x86
	Needed    bool   // no guest runs without it
	Want      int    // bits that Have must contain; 0: any non-zero value will do
	Have      int    // what KVM answered; 0 absent
	Use       string // what it is for
	Remedy    string // what to do if it is missing
}

// OK tells whether the host has it.
func (c Capability) OK() bool {
	if c.Want != 0 {
		return c.Have&c.Want == c.Want
	}
	return c.Have > 0
}

const (
	newerKernel = "use a newer host kernel"
	xenKernel   = "optional: host kernel with CONFIG_KVM_XEN=y"
)

var wanted = [...]Capability{
	{Cap: CapUserMemory, MinKernel: "2.6.25", Needed: true, Use: "guest memory", Remedy: newerKernel},
	{Cap: CapSyncMMU, MinKernel: "2.6.27", Needed: true, Use: "remapping guest memory under a running guest", Remedy: newerKernel},
	{Cap: CapDestroyMemoryRegionWorks, MinKernel: "2.6.29", Needed: true, Use: "moving and deleting memory slots", Remedy: newerKernel},
	{Cap: CapNrMemslots, MinKernel: "2.6.26", Needed: true, Use: "memory slots", Remedy: newerKernel},
	{Cap: CapExtCPUID, MinKernel: "2.6.26", Needed: true, Use: "showing the guest its CPUID", Remedy: newerKernel},
	{Cap: CapIRQChip, MinKernel: "2.6.25", Needed: true, Use: "local APICs in the kernel", Remedy: newerKernel},
	{Cap: CapMPState, MinKernel: "2.6.26", Needed: true, Use: "starting and stopping vCPUs", Remedy: newerKernel},
	{Cap: CapVCPUEvents, MinKernel: "2.6.33", Needed: true, Use: "injecting the callback vector", Remedy: newerKernel},
	{Cap: CapGetTSCKHz, MinKernel: "2.6.39", Needed: true, Use: "telling the guest its TSC frequency", Remedy: newerKernel},
	{Cap: CapSignalMSI, MinKernel: "3.5", Needed: true, Use: "upcalls by interrupt vector", Remedy: newerKernel},
	{Cap: CapEnableCapVM, MinKernel: "3.15", Needed: true, Use: "switching the rest on", Remedy: newerKernel},
	{Cap: CapSplitIRQChip, MinKernel: "4.4", Needed: true, Use: "IOAPIC in user space", Remedy: newerKernel},
	{Cap: CapImmediateExit, MinKernel: "4.11", Needed: true, Use: "kicking a vCPU without a race", Remedy: newerKernel},
	{Cap: CapSyncRegs, Name: "SYNC_REGS (regs, sregs)", Want: int(SyncRegs | SyncSregs), MinKernel: "4.17", Needed: true, Use: "hypercall registers without further ioctls", Remedy: newerKernel},
	{Cap: CapX86UserSpaceMSR, MinKernel: "5.10", Needed: true, Use: "seeing the hypercall page MSR", Remedy: newerKernel},
	{Cap: CapX86MSRFilter, MinKernel: "5.10", Needed: true, Use: "seeing the hypercall page MSR", Remedy: newerKernel},

	{Cap: CapIRQFD, MinKernel: "2.6.32", Use: "passthrough interrupts straight from an eventfd", Remedy: newerKernel},
	{Cap: CapIRQFDResample, MinKernel: "3.8", Use: "level-triggered callback interrupts", Remedy: newerKernel},
	{Cap: CapIOEventFD, MinKernel: "2.6.32", Use: "doorbells that need no exit", Remedy: newerKernel},
	{Cap: CapIRQRouting, MinKernel: "2.6.30", Use: "MSI routes for irqfd", Remedy: newerKernel},
	{Cap: CapReadonlyMem, MinKernel: "3.7", Use: "read-only memory slots", Remedy: newerKernel},
	{Cap: CapAdjustClock, Name: "ADJUST_CLOCK (realtime)", Want: ClockRealtime, MinKernel: "5.16", Use: "wall clock and guest clock read at one instant", Remedy: newerKernel},
	{Cap: CapDisableQuirks2, Name: "DISABLE_QUIRKS2 (FIX_HYPERCALL_INSN)", Want: QuirkFixHypercallInsn, MinKernel: "5.19", Use: "a missed vmcall faults instead of hanging the vCPU", Remedy: newerKernel},
	{Cap: CapGuestDebugHWBPs, MinKernel: "4.4", Use: "hardware breakpoints in the guest", Remedy: "host processor and KVM with virtualised debug registers"},
	{Cap: CapTSCControl, MinKernel: "2.6.39", Use: "another TSC frequency than the host's", Remedy: "host processor with TSC scaling"},
	{Cap: CapXenHVM, Name: "XEN_HVM (INTERCEPT_HCALL)", Want: int(XenInterceptHcall), MinKernel: "5.12", Use: "hypercall exits without rewriting the guest", Remedy: xenKernel},
	{Cap: CapXenHVM, Name: "XEN_HVM (EVTCHN_2LEVEL)", Want: int(XenEvtchn2Level), MinKernel: "5.17", Use: "comparison with the kernel's event channels", Remedy: xenKernel},
	{Cap: CapXenHVM, Name: "XEN_HVM (EVTCHN_SEND)", Want: int(XenEvtchnSend), MinKernel: "5.19", Use: "comparison with the kernel's event channels", Remedy: xenKernel},
}

// Probe asks the host for everything this VMM needs or can use, needed first.
// A capability that cannot be queried counts as absent.
func Probe(s *System) []Capability { return probe(s.CheckExtension) }

func probe(check func(Cap) (int, error)) []Capability {
	out := make([]Capability, 0, len(wanted))
	for _, c := range wanted {
		if c.Name == "" {
			c.Name = c.Cap.String()
		}
		if n, err := check(c.Cap); err == nil {
			c.Have = n
		}
		out = append(out, c)
	}
	return out
}

// Missing is nil if every needed capability is there; else an error with one
// line for each that is not.
func Missing(caps []Capability) error {
	var errs []error
	for _, c := range caps {
		if c.Needed && !c.OK() {
			errs = append(errs, fmt.Errorf("KVM lacks %s (value %d), needed for %s: %s (Linux %s or later)", c.Name, c.Have, c.Use, c.Remedy, c.MinKernel))
		}
	}
	return errors.Join(errs...)
}
