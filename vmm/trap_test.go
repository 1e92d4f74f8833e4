// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"xenvmm/vmm/kvm"
	"xenvmm/xenshim"
	"xenvmm/xenshim/abi"
)

func TestTrapIsWhatTheHostCanDo(t *testing.T) {
	const with, without = kvm.XenInterceptHcall, kvm.XenSharedInfo
	for _, c := range []struct {
		trap string
		have kvm.XenFlags
		want string // "" for an error
	}{
		{TrapAuto, with, TrapKVM}, {TrapAuto, without, TrapMSR}, {TrapAuto, 0, TrapMSR},
		{TrapMSR, with, TrapMSR}, {TrapMSR, 0, TrapMSR},
		{TrapKVM, with, TrapKVM}, {TrapKVM, without, ""}, {TrapKVM, 0, ""},
	} {
		got, err := chooseTrap(c.trap, c.have)
		var lacks *HostError
		if got != c.want || (c.want == "") != errors.As(err, &lacks) {
			t.Errorf("trap %s on a host with %#x is %q, %v; want %q", c.trap, uint32(c.have), got, err, c.want)
		}
		if err != nil {
			for _, part := range []string{"INTERCEPT_HCALL", "CONFIG_KVM_XEN=y", "5.12", "--trap msr"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not name %q", err, part)
				}
			}
		}
	}
}

func TestKernelEventsNeedEveryPart(t *testing.T) {
	all := kvm.XenSharedInfo | kvm.XenEvtchn2Level | kvm.XenEvtchnSend | kvm.XenSharedInfoHVA
	if err := needKernelEvents(all); err != nil {
		t.Errorf("all there: %v", err)
	}
	for flag, name := range map[kvm.XenFlags]string{
		kvm.XenSharedInfo: "(SHARED_INFO)", kvm.XenEvtchn2Level: "(EVTCHN_2LEVEL)", kvm.XenEvtchnSend: "(EVTCHN_SEND)", kvm.XenSharedInfoHVA: "(SHARED_INFO_HVA)",
	} {
		var lacks *HostError
		if err := needKernelEvents(all &^ flag); !errors.As(err, &lacks) || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestStubsTrapByTheProcessorsInstruction(t *testing.T) {
	vendor := func(ebx uint32) []kvm.CPUIDEntry { return []kvm.CPUIDEntry{{Function: 1}, {Function: 0, Ebx: ebx}} }
	vmcall, vmmcall := []byte{0x0f, 0x01, 0xc1}, []byte{0x0f, 0x01, 0xd9}
	for _, c := range []struct {
		name string
		ebx  uint32
		want []byte
	}{
		{"GenuineIntel", 0x756e6547, vmcall}, {"CentaurHauls", 0x746e6543, vmcall},
		{"AuthenticAMD", 0x68747541, vmmcall}, {"HygonGenuine", 0x6f677948, vmmcall},
	} {
		trap := hypercallTrap(TrapKVM, vendor(c.ebx))
		for nr := range abi.HypercallPageStubs {
			want := c.want
			if nr == abi.HypercallSchedOp {
				want = nil // or KVM would answer polls
			}
			if got := trap(nr); !bytes.Equal(got, want) || len(got) > xenshim.MaxHypercallTrap {
				t.Errorf("%s: stub %d traps by % x, want % x", c.name, nr, got, want)
			}
		}
	}
	if hypercallTrap(TrapMSR, nil) != nil {
		t.Error("trap msr has an instruction other than the port's")
	}
}

// The registers of an intercepted call are those that KVM names, in the
// convention that KVM found; so is the ring.
func TestInterceptedCallsAreTakenFromTheExit(t *testing.T) {
	for _, c := range []struct {
		name string
		exit kvm.XenExit
		want xenshim.Registers
		cpl  uint8
	}{
		{"64-bit", kvm.XenExit{LongMode: true, Input: 1 << 40, Params: [6]uint64{1, 2, 3, 4, 5, 6}},
			xenshim.Registers{RAX: 1 << 40, RDI: 1, RSI: 2, RDX: 3, R10: 4, R8: 5, R9: 6}, 0},
		{"32-bit, ring 3", kvm.XenExit{CPL: 3, Input: 12, Params: [6]uint64{1, 2, 3, 4, 5, 6}},
			xenshim.Registers{RAX: 12, RBX: 1, RCX: 2, RDX: 3, RSI: 4, RDI: 5, RBP: 6}, 3},
		{"a ring there is not", kvm.XenExit{CPL: 256}, xenshim.Registers{}, 3},
	} {
		s := cpuScratch{call: &c.exit}
		s.regs.RCX, s.state.CSLong = 99, !c.exit.LongMode
		s.intercepted()
		if s.regs != c.want || s.state.CPL != c.cpl || s.state.CSLong != c.exit.LongMode || s.intercepts.Load() != 1 {
			t.Errorf("%s: %+v %+v", c.name, s.regs, s.state)
		}
	}
}

func TestKernelIsToldAfterCallsThatMayChangeSomething(t *testing.T) {
	for _, c := range []struct {
		nr   uint64
		cmd  uint32
		want bool
	}{
		{abi.HypercallEventChannelOp, abi.EvtchnopSend, false}, {abi.HypercallEventChannelOp, abi.EvtchnopUnmask, false},
		{abi.HypercallEventChannelOp, abi.EvtchnopClose, true}, {abi.HypercallEventChannelOp, abi.EvtchnopBindIPI, true},
		{abi.HypercallEventChannelOp, abi.EvtchnopBindVCPU, true}, {abi.HypercallEventChannelOp, abi.EvtchnopReset, true},
		{abi.HypercallVCPUOp, abi.VCPUOpRegisterVCPUInfo, true}, {abi.HypercallVCPUOp, abi.VCPUOpSetSingleshotTimer, false},
		{abi.HypercallSchedOp, abi.SchedopPoll, false}, {abi.HypercallMulticall, 0, true}, {abi.HypercallMemoryOp, 7, true},
		{abi.HypercallHVMOp, abi.HVMOpSetParam, true}, {abi.HypercallXenVersion, 0, false},
	} {
		if got := concerns(c.nr, c.cmd); got != c.want {
			t.Errorf("hypercall %d command %d concerns the kernel: %v, want %v", c.nr, c.cmd, got, c.want)
		}
	}
}
