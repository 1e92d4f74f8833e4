// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"fmt"

	"xenvmm/vmm/kvm"
	"xenvmm/xenshim"
	"xenvmm/xenshim/abi"
)

// Ways to see a guest's hypercalls, for Config.Trap.
const (
	TrapAuto = "auto" // TrapKVM where the host can do it, else TrapMSR
	// TrapMSR fills the hypercall page with instructions that leave the guest on
	// any KVM.
	TrapMSR = "msr"
	// TrapKVM has KVM intercept VMCALL and VMMCALL: also those of guests that use
	// no hypercall page.
	TrapKVM = "kvm"
)

// Traps returns the names for Config.Trap, the default first.
func Traps() []string { return []string{TrapAuto, TrapMSR, TrapKVM} }

// chooseTrap resolves TrapAuto by what the host offers (KVM_CAP_XEN_HVM).
func chooseTrap(trap string, have kvm.XenFlags) (string, error) {
	can := have&kvm.XenInterceptHcall != 0
	switch {
	case trap == TrapKVM && !can:
		return "", lacksXen("XEN_HVM (INTERCEPT_HCALL)", "5.12", "or give --trap msr")
	case trap == TrapAuto && can:
		return TrapKVM, nil
	case trap == TrapAuto:
		return TrapMSR, nil
	}
	return trap, nil
}

// lacksXen is the error of a host whose KVM was built without its Xen support.
func lacksXen(what, since, or string) error {
	return &HostError{What: "KVM_CAP_" + what, Remedy: fmt.Sprintf(
		"use a host kernel of Linux %s or later with CONFIG_KVM_XEN=y, as Debian 13's is (`vmm lab exec --host debian-6.12 -- vmm run` boots one), %s", since, or)}
}

// xenFlags is what the host's KVM offers for Xen guests, 0 if nothing.
func xenFlags(sys *kvm.System) kvm.XenFlags {
	n, err := sys.CheckExtension(kvm.CapXenHVM)
	if err != nil {
		return 0
	}
	return kvm.XenFlags(n)
}

// trapHypercalls prepares a VM for one of the two ways. The hypercall page's MSR
// is denied to KVM in both, and left to this program: the page is the domain's to
// fill (see hypercallTrap), and its width follows from the mode of who writes it.
func trapHypercalls(vm *kvm.VM, trap string) error {
	if err := vm.EnableUserSpaceMSR(kvm.MSRExitFilter); err != nil {
		return err
	}
	if err := vm.SetMSRFilter([]kvm.MSRRange{{Base: abi.HypercallMSR, N: 1, Read: true, Write: true}}, true); err != nil {
		return err
	}
	if trap == TrapKVM {
		// KVM rewrites the other vendor's instruction, unless told not to. Here
		// that is a service: some kernels use VMCALL on every processor until they
		// know which one it is.
		return vm.XenHVMConfig(kvm.XenHVMConfig{Flags: kvm.XenInterceptHcall, MSR: abi.HypercallMSR})
	}
	// Without this a hypercall instruction that should not be there is patched
	// by KVM, which on some hosts ends in a loop inside KVM_RUN; with it the
	// guest gets the #UD it can report.
	if n, _ := vm.CheckExtension(kvm.CapDisableQuirks2); n&kvm.QuirkFixHypercallInsn != 0 {
		return vm.DisableQuirks(kvm.QuirkFixHypercallInsn)
	}
	return nil
}

// hypercallTrap is xenshim.Config.HypercallTrap. KVM intercepts the instruction of
// the processor's vendor, of which there are two families.
//
// sched_op keeps the OUT. KVM answers SCHEDOP_poll by itself when it intercepts
// hypercalls: with its own idea of a timeout if it has the event channels as well,
// and as a yield that succeeds whatever its arguments are if not. Guests that make
// their calls without the page get that; it is within what a poll may do, which is
// to return early, but waits by turning.
func hypercallTrap(trap string, host []kvm.CPUIDEntry) func(nr int) []byte {
	if trap != TrapKVM {
		return nil
	}
	insn := []byte{0x0f, 0x01, 0xc1} // vmcall
	if amd(host) {
		insn = []byte{0x0f, 0x01, 0xd9} // vmmcall
	}
	return func(nr int) []byte {
		if nr == abi.HypercallSchedOp {
			return nil
		}
		return insn
	}
}

// amd tells whether CPUID names a vendor whose virtualisation is SVM.
func amd(host []kvm.CPUIDEntry) bool {
	const authenticAMD, hygonGenuine = 0x68747541, 0x6f677948 // EBX of leaf 0: "Auth", "Hygo"
	for _, e := range host {
		if e.Function == 0 {
			return e.Ebx == authenticAMD || e.Ebx == hygonGenuine
		}
	}
	return false
}

// tappedCPU shows an intercepted hypercall as the OUT by which a stub of ours
// makes it, so that the run loop has one kind. The call is kept for
// exits.Hypercall, which takes ring and arguments from it and answers it.
type tappedCPU struct {
	*kvm.VCPU
	call **kvm.XenExit // where the last exit's is put, nil if that was no such call
}

// Exit implements vcpu.KVM.
func (c *tappedCPU) Exit() *kvm.Exit {
	e := c.VCPU.Exit()
	*c.call = nil
	if e.Err == nil && e.Reason == kvm.ExitXen && e.Xen.Type == kvm.XenExitHcall {
		*c.call = &e.Xen
		e.Reason = kvm.ExitIO
		e.IO = kvm.IOExit{Out: true, Port: xenshim.HypercallPort, Size: 4, Count: 1}
	}
	return e
}

// intercepted fills in what KVM told about an intercepted call: number and
// arguments in the registers of the convention it found, and the ring.
func (c *cpuScratch) intercepted() {
	c.intercepts.Add(1)
	x := c.call
	p := &x.Params
	if x.LongMode {
		c.regs = xenshim.Registers{RAX: x.Input, RDI: p[0], RSI: p[1], RDX: p[2], R10: p[3], R8: p[4], R9: p[5]}
	} else {
		c.regs = xenshim.Registers{RAX: x.Input, RBX: p[0], RCX: p[1], RDX: p[2], RSI: p[3], RDI: p[4], RBP: p[5]}
	}
	c.state.CSLong, c.state.CPL = x.LongMode, uint8(min(x.CPL, 3))
}
