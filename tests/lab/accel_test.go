// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"xenvmm/tests/lab/kernel"
)

func TestWhatAHostRunsOn(t *testing.T) {
	none := errors.New("/dev/kvm: no such file")
	hardware := platform{AccelKVM, "kvm_intel"}
	for _, c := range []struct {
		accel  Accel
		nested error
		want   []platform
	}{
		{"", nil, []platform{hardware, emulated}},
		{AccelAuto, nil, []platform{hardware, emulated}},
		{AccelAuto, none, []platform{emulated}},
		{AccelKVM, nil, []platform{hardware}},
		{AccelKVM, none, nil},
		{AccelEmulator, nil, []platform{emulated}},
		{"fpga", nil, nil},
	} {
		got, err := platforms(c.accel, func() (string, error) { return "kvm_intel", c.nested })
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%q, nested %v: %v, %v", c.accel, c.nested, got, err)
		}
		if c.accel == AccelKVM && c.nested != nil && !errors.Is(err, none) {
			t.Errorf("the reason is lost: %v", err)
		}
	}
}

func TestWhatKVMOffersToGuests(t *testing.T) {
	plain := []cpuidEntry{{function: 0}, {function: 1, ecx: ^uint32(vmxBit)}, {function: 0x8000_0001, ecx: ^uint32(svmBit)}}
	if m, err := nestedModule(plain); !errors.Is(err, errNotNested) {
		t.Errorf("no nesting: %q, %v", m, err)
	}
	if m, err := nestedModule(append(plain, cpuidEntry{function: 0x8000_0001, ecx: svmBit})); m != "kvm_amd" || err != nil {
		t.Errorf("SVM: %q, %v", m, err)
	}
	if m, err := nestedModule([]cpuidEntry{{function: 1, ecx: vmxBit}}); m != "kvm_intel" || err != nil {
		t.Errorf("VMX: %q, %v", m, err)
	}
}

func TestTheMachineFitsKernelAndPlatform(t *testing.T) {
	hardware := platform{AccelKVM, "kvm_intel"}
	vfio := Config{NICs: []NIC{{VFIO: true}}}
	rt := kernel.Spec{ConstantTSC: true}
	for name, c := range map[string]struct {
		cfg      Config
		spec     kernel.Spec
		on       platform
		want, no string
	}{
		"emulator":             {on: emulated, want: "-M q35 -accel tcg,thread=multi -cpu max,family=23,model=49,stepping=0 ", no: "smbios"},
		"hardware":             {on: hardware, want: "-M q35 -accel kvm -cpu host,migratable=off "},
		"emulator, RT":         {spec: rt, on: emulated, want: "-smbios type=1,serial=VMware-xenvmm-lab -M q35,vmport=on -accel tcg,thread=multi -cpu max,family=23,model=49,stepping=0,-hypervisor "},
		"hardware, RT":         {spec: rt, on: hardware, want: "-M q35 -accel kvm -cpu host", no: "vmport"},
		"hardware with IOMMU":  {cfg: vfio, on: hardware, want: "-M q35,kernel-irqchip=split "},
		"emulator with IOMMU":  {cfg: vfio, on: emulated, want: "-M q35 "},
		"IOMMU before its NIC": {cfg: vfio, on: emulated, want: "-device intel-iommu,intremap=on -netdev "},
		"IOMMU in the kernel":  {cfg: vfio, on: emulated, want: "intel_iommu=on iommu=pt"},
	} {
		cfg, err := c.cfg.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(qemuArgs(cfg, &kernel.Kernel{Spec: c.spec}, c.on), " ")
		if !strings.Contains(got, c.want) || c.no != "" && strings.Contains(got, c.no) {
			t.Errorf("%s: want %q and not %q in %s", name, c.want, c.no, got)
		}
	}
}
