// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"xenvmm/guest"
	"xenvmm/vmm"
	"xenvmm/vmm/kvm"
	"xenvmm/vmm/kvm/kvmtest"
)

// allGuests is the variable that has every guest run in every mode.
const allGuests = "XENVMM_MATRIX"

// mode is one way to run a machine, and what the host's KVM must have for it.
type mode struct {
	trap, evtchn, irqchip string
	needs                 kvm.XenFlags
	few                   bool // each of its parts is in another mode with more guests
}

func (m mode) String() string {
	return fmt.Sprintf("trap=%s evtchn=%s irqchip=%s", m.trap, m.evtchn, m.irqchip)
}

const kernelEvtchn = kvm.XenSharedInfo | kvm.XenEvtchn2Level | kvm.XenEvtchnSend | kvm.XenSharedInfoHVA

// modes are those that TestKVMGuests does not run, which takes what the host
// offers and otherwise the defaults.
func modes(host kvm.XenFlags) []mode {
	all := []mode{
		{vmm.TrapMSR, vmm.EvtchnUser, vmm.IRQChipFull, 0, true},
		{vmm.TrapKVM, vmm.EvtchnUser, vmm.IRQChipFull, kvm.XenInterceptHcall, false},
		{vmm.TrapKVM, vmm.EvtchnKernel, vmm.IRQChipFull, kvm.XenInterceptHcall | kernelEvtchn, false},
		{vmm.TrapAuto, vmm.EvtchnUser, vmm.IRQChipSplit, 0, false},
		{vmm.TrapKVM, vmm.EvtchnKernel, vmm.IRQChipSplit, kvm.XenInterceptHcall | kernelEvtchn, true},
	}
	byDefault := 0
	if host&kvm.XenInterceptHcall != 0 {
		byDefault = 1
	}
	if os.Getenv(allGuests) == "" {
		return append(all[:byDefault:byDefault], all[byDefault+1:]...)
	}
	return all
}

// inMatrix tells whether a guest's run is about something that depends on the
// mode: hypercalls, events, time, vCPUs.
func inMatrix(m mode, g guest.Test, v guest.Variant) bool {
	if os.Getenv(allGuests) != "" {
		return true
	}
	if m.few {
		switch g.Name {
		case "ident", "hypercall-misc", "hypercall-sched", "poll":
			return v.Args == g.Args && v.CPUs == g.CPUs
		case "upcall":
			return v.CPUs == 2
		}
		return false
	}
	switch g.Name {
	case "ident", "hypercall-misc", "hypercall-evtchn", "hypercall-sched", "hypercall-vcpu", "hypercall-hvm", "sharedinfo", "interdomain",
		"poll", "virq-timer", "runstate", "xenstore":
		return v.Args == g.Args && v.CPUs == g.CPUs
	case "ipi", "mask-unmask", "halt":
		return true
	case "badhypercall":
		return v.CPUs == 2
	case "upcall":
		return v.CPUs != 1
	case "wallclock":
		return v.CPUs == 2
	case "storm":
		return strings.Contains(v.Args, "self=")
	case "shutdown":
		return v.Ends == guest.EndsSoftReset
	}
	return false
}

// hostXen is what the host's KVM has for Xen guests.
func hostXen(t *testing.T) kvm.XenFlags {
	t.Helper()
	n, err := kvmtest.Open(t).CheckExtension(kvm.CapXenHVM)
	if err != nil {
		t.Fatal(err)
	}
	return kvm.XenFlags(n)
}

// TestKVMMatrix runs guests by every way to trap hypercalls, deliver events and
// interrupt that the host has. Those it lacks must be refused with the name of
// what is lacking, and are.
func TestKVMMatrix(t *testing.T) {
	host := hostXen(t)
	t.Logf("KVM_CAP_XEN_HVM is %#x", uint32(host))
	for _, m := range modes(host) {
		t.Run(m.String(), func(t *testing.T) {
			if host&m.needs != m.needs {
				refused(t, m)
			}
			for _, g := range guest.Tests() {
				for _, v := range append([]guest.Variant{{Args: g.Args, CPUs: g.CPUs, Ends: g.Ends}}, g.Variants...) {
					if g.Host == guest.HostPorts && !strings.Contains(v.Args, "self=") || !inMatrix(m, g, v) {
						continue
					}
					t.Run(strings.TrimSpace(fmt.Sprintf("%s cpus=%d %s", g.Name, v.CPUs, v.Args)), func(t *testing.T) {
						runIn(t, m, g, v)
					})
				}
			}
		})
	}
}

// TestKVMHypercallsComeByTheTrapThatWasChosen looks which way they took.
func TestKVMHypercallsComeByTheTrapThatWasChosen(t *testing.T) {
	host := hostXen(t)
	image, _ := guest.Image("hypercall-version")
	for _, m := range []mode{{trap: vmm.TrapAuto}, {trap: vmm.TrapMSR}, {trap: vmm.TrapKVM, needs: kvm.XenInterceptHcall}} {
		t.Run(m.trap, func(t *testing.T) {
			if host&m.needs != m.needs {
				refused(t, m)
			}
			machine, err := vmm.New(vmm.Config{Kernel: image, KernelName: "hypercall-version", Trap: m.trap})
			if err != nil {
				t.Fatal(err)
			}
			defer machine.Close()
			if err := machine.Start(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			expect(t, machine.Wait(ctx), vmm.Poweroff, vmm.Pass)
			want := m.trap != vmm.TrapMSR && host&kvm.XenInterceptHcall != 0
			if n, used := machine.Stats().Intercepted, machine.Config().Trap; (n > 0) != want || (used == vmm.TrapKVM) != want {
				t.Errorf("%d calls were intercepted, trap %s; want any: %v", n, used, want)
			}
		})
	}
}

// refused demands an error that says what the host lacks and what to do.
func refused(t *testing.T, m mode) {
	image, _ := guest.Image("ident")
	_, err := vmm.New(vmm.Config{Kernel: image, KernelName: "ident", Trap: m.trap, Evtchn: m.evtchn, IRQChip: m.irqchip})
	var lacks *vmm.HostError
	if !errors.As(err, &lacks) || !strings.Contains(err.Error(), "KVM_CAP_XEN_HVM") || !strings.Contains(err.Error(), "CONFIG_KVM_XEN=y") {
		t.Errorf("made with %v, want a *vmm.HostError that names capability and kernel option", err)
	}
	t.Skipf("refused, as it must be: %v", err)
}

func runIn(t *testing.T, m mode, g guest.Test, v guest.Variant) {
	image, ok := guest.Image(g.Name)
	if !ok {
		t.Fatalf("there is no guest %q", g.Name)
	}
	cfg := vmm.Config{
		Kernel: image, KernelName: g.Name, CPUs: v.CPUs, Cmdline: fmt.Sprintf("cpus=%d %s", v.CPUs, v.Args),
		Trap: m.trap, Evtchn: m.evtchn, IRQChip: m.irqchip,
	}
	if g.Host == guest.HostConsole {
		in, typed := io.Pipe()
		defer typed.Close()
		cfg.Console.In = in
		cfg.Console.Out = &session{steps: []step{{"PVCONSOLE ready", expected(v.Args)}}, keyboard: typed}
	}
	if m.irqchip == vmm.IRQChipSplit && strings.Contains(v.Args, "upcall=gsi") {
		s := boot(t, cfg, limit)
		if s.Ending != vmm.Stuck || !strings.Contains(s.Detail, "interrupt line 10") || !strings.Contains(s.Detail, "--irqchip full") {
			t.Errorf("%s; want stuck, with line and remedy", s)
		}
		t.Skipf("stopped, as it must be: %s", s.Detail)
	}
	expectEnd(t, boot(t, cfg, lasts(v)), v)
}
