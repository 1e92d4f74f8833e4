// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"strings"
)

// Accel says what a host's processor is: the machine's own, through KVM, or an
// emulated one.
type Accel string

const (
	// AccelAuto is KVM where /dev/kvm can be used and lets guests virtualise
	// (nested virtualisation), and the emulator otherwise, also when a host
	// doesn't come up with KVM.
	AccelAuto Accel = "auto"
	// AccelKVM is KVM or nothing.
	AccelKVM Accel = "kvm"
	// AccelEmulator is QEMU's software emulation of an AMD processor with SVM.
	AccelEmulator Accel = "tcg"
)

// platform is one way to run a host.
type platform struct {
	accel  Accel
	module string // the kernel module that makes /dev/kvm inside
}

// emulated is what works everywhere.
var emulated = platform{AccelEmulator, "kvm_amd"}

// platforms are the ways to try, in that order. nested tells which module the
// machine's own KVM wants inside, or why it can't be used.
func platforms(a Accel, nested func() (module string, err error)) ([]platform, error) {
	switch a {
	case AccelEmulator:
		return []platform{emulated}, nil
	case "", AccelAuto, AccelKVM:
	default:
		return nil, fmt.Errorf("lab: acceleration %q: want auto, kvm or tcg", a)
	}
	module, err := nested()
	switch {
	case err == nil && a == AccelKVM:
		return []platform{{AccelKVM, module}}, nil
	case err == nil:
		return []platform{{AccelKVM, module}, emulated}, nil
	case a == AccelKVM:
		return nil, fmt.Errorf("lab: a host on hardware KVM: %w: use the emulator (tcg)", err)
	}
	return []platform{emulated}, nil
}

// Bits of CPUID that say which virtualisation a guest is offered.
const (
	leafFeatures, vmxBit         = 1, 1 << 5           // ECX
	leafExtendedFeatures, svmBit = 0x8000_0001, 1 << 2 // ECX
)

var errNotNested = errors.New("/dev/kvm does not let guests virtualise: load kvm_intel or kvm_amd with nested=1, or enable it in the outer machine")

// nestedModule reads KVM's list of what it can offer.
func nestedModule(entries []cpuidEntry) (string, error) {
	for _, e := range entries {
		switch {
		case e.function == leafFeatures && e.ecx&vmxBit != 0:
			return "kvm_intel", nil
		case e.function == leafExtendedFeatures && e.ecx&svmBit != 0:
			return "kvm_amd", nil
		}
	}
	return "", errNotNested
}

// spareCPUs is how many processors a host has on which no program runs, the first
// ones.
//
// The emulator keeps a flag of the whole machine (IGNNE) in the state of its first
// processor, and clears it there, without atomicity, whenever any processor
// restores its floating point registers (QEMU 7.2 to 10.0 at least, cpu_clear_ignne).
// A change that the first one makes to the same word at that moment is lost, and
// that is where it has whether a guest runs and with nested paging: a guest
// that is entered or left then goes on in a ruined state, which shows as a triple
// fault or as a host that hangs. So guests keep away from the first one.
func (p platform) spareCPUs() int {
	if p.accel == AccelEmulator {
		return 1
	}
	return 0
}

// machineArgs are QEMU's arguments for processor and board.
func (p platform) machineArgs(c Config, constantTSC bool) []string {
	machine, cpu := "q35", "host,migratable=off" // which offers an invariant TSC, too
	accel := "kvm"
	var more []string
	if p.accel == AccelEmulator {
		// Must stay "max" for the sake of SVM's features. By itself it is a K8,
		// where Linux looks for that family's faults: idle by a polled MSR (E400),
		// an AGP bridge at each of 8192 PCI addresses (2.6 s, twice). This is a Zen 2.
		accel, cpu = "tcg,thread=multi", "max,family=23,model=49,stepping=0"
		if constantTSC {
			machine, cpu, more = machine+",vmport=on", cpu+",-hypervisor", []string{"-smbios", "type=1,serial=VMware-xenvmm-lab"}
		}
	} else if c.needIOMMU() {
		machine += ",kernel-irqchip=split" // interrupt remapping wants it
	}
	return append(more, strings.Fields("-M "+machine+" -accel "+accel+" -cpu "+cpu)...)
}
