// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
	"regexp"
	"strings"
)

// Default is the kernel used where none is named.
const Default = "debian-6.12"

// Spec is one kernel the lab knows.
type Spec struct {
	Name string
	// Package matches the names of the packages that carry this kernel; the
	// newest of them is taken.
	Package *regexp.Regexp
	Summary string
	// Host tells that the kernel can run a lab host. The others are kept as
	// guests for what runs inside.
	Host bool
	// ConstantTSC tells that the kernel's KVM works only on a processor whose
	// TSC has a constant rate, as PREEMPT_RT's does.
	ConstantTSC bool
}

// The versions in names of packages: 6.12.117+deb12 and 6.12 (later than the
// versions of its time), 6.1.0-57.
const (
	version612 = `6\.12(\.[0-9]+)?(\+deb[0-9]+|-[0-9]+)?`
	version61  = `6\.1\.[0-9]+(\+deb[0-9]+)?-[0-9]+`
)

// Specs returns every known kernel, the default first.
func Specs() []Spec {
	image := func(version, flavour string) *regexp.Regexp {
		return regexp.MustCompile(`^linux-image-` + version + flavour + `-amd64$`)
	}
	return []Spec{
		{Name: Default, Package: image(version612, ""), Host: true,
			Summary: "6.12 generic: in-kernel Xen support (KVM_CAP_XEN_HVM), newest KVM interface"},
		{Name: "debian-6.1", Package: image(version61, ""), Host: true,
			Summary: "6.1 generic: no in-kernel Xen support, oldest KVM interface tested"},
		{Name: "debian-6.12-rt", Package: image(version612, "-rt"), Host: true, ConstantTSC: true,
			Summary: "6.12 with PREEMPT_RT: as 6.12, fully preemptible"},
		{Name: "debian-6.12-cloud", Package: image(version612, "-cloud"),
			Summary: "6.12 for virtual machines: few drivers"},
		{Name: "debian-6.1-cloud", Package: image(version61, "-cloud"),
			Summary: "6.1 for virtual machines: few drivers"},
	}
}

// Find returns the kernel of that name; "" is the default.
func Find(name string) (Spec, error) {
	if name == "" {
		name = Default
	}
	var names []string
	for _, s := range Specs() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Spec{}, fmt.Errorf("unknown lab host %q: known are %s", name, strings.Join(names, ", "))
}

// hostModules are needed for the lab's devices. A module that a kernel has
// built in needs no file.
var hostModules = []string{"virtio_pci", "virtio_console"}

// extraModules are kept for hosts that ask for them by name, and for guests.
var extraModules = []string{
	"kvm_amd", "kvm_intel", "xen_blkfront", "xen_netfront",
	"vfio_pci", "vfio_iommu_type1", "tun", "vhost_net", "e1000", "e1000e", "virtio_net", "virtio_blk",
	"overlay", "9p", "9pnet_virtio", "msr", "cpuid",
}
