// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"slices"
	"strings"
	"testing"

	"xenvmm/tests/lab/wire"
)

func TestNetworkInterfaces(t *testing.T) {
	c, err := Config{NICs: []NIC{{}, {Hub: 3}, {Hub: 3, VFIO: true}, {Model: "virtio", VFIO: true}}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Join(c.nicArgs(), " ")
	for _, want := range []string{
		"-netdev user,id=nic0,net=10.0.2.0/24 -device virtio-net-pci,netdev=nic0,addr=10.0,mac=52:54:00:4c:41:01,romfile= ",
		"-netdev hubport,id=nic1,hubid=3 -device virtio-net-pci,netdev=nic1,addr=11.0,",
		"-netdev hubport,id=nic2,hubid=3 -device e1000e,netdev=nic2,addr=12.0,",
		"-netdev user,id=nic3,net=10.0.5.0/24 -device virtio-net-pci,netdev=nic3,addr=13.0,mac=52:54:00:4c:41:04,romfile=,iommu_platform=on,disable-legacy=on",
	} {
		if !strings.Contains(args, want) {
			t.Errorf("%q is missing in %s", want, args)
		}
	}
	want := []wire.NIC{
		{PCI: "0000:00:10.0", Address: "10.0.2.15/24", Gateway: "10.0.2.2", DNS: "10.0.2.3"},
		{PCI: "0000:00:11.0"}, {PCI: "0000:00:12.0", VFIO: true}, {PCI: "0000:00:13.0", VFIO: true},
	}
	if got := c.wireNICs(); !slices.Equal(got, want) {
		t.Errorf("the init is told %+v", got)
	}
	if got := c.nicModules(); !slices.Equal(got, []string{"virtio_net", "virtio_net", "e1000e", "virtio_net", "vfio_pci", "vfio_iommu_type1"}) {
		t.Errorf("modules %q", got)
	}
	if args := (Config{}).nicArgs(); len(args) != 0 {
		t.Errorf("without any: %q", args)
	}
	for _, bad := range []Config{{NICs: []NIC{{Model: "ne2000"}}}, {NICs: []NIC{{Hub: -1}}}, {NICs: []NIC{{Hub: 256}}}, {NICs: make([]NIC, maxNICs+1)}} {
		if _, err := bad.withDefaults(); err == nil {
			t.Errorf("%+v: no error", bad.NICs)
		}
	}
}
