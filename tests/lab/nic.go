// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"slices"

	"xenvmm/tests/lab/wire"
)

// NIC is a network interface of a host. The first of a Config is PCI device
// 0000:00:10.0 there, the next 0000:00:11.0 and so on.
type NIC struct {
	// Hub 0 connects to the outside through QEMU's user network, which needs no
	// privileges: the interface has an address, a gateway and a name server, and
	// the gateway's address is this machine's loopback. Any other number connects
	// to the host's other NICs of that number, and to nothing else.
	Hub int
	// Model is virtio, e1000e or e1000; default virtio, or e1000e with VFIO.
	Model string
	// VFIO leaves the device to vfio-pci, and gives the host an IOMMU.
	VFIO bool
}

// firstNICSlot is the PCI slot of the first NIC, maxNICs how many there are.
const (
	firstNICSlot = 0x10
	maxNICs      = 8
)

// nicModels are the names we give, QEMU's devices and their drivers.
var nicModels = map[string]struct{ device, module string }{
	"virtio": {"virtio-net-pci", "virtio_net"},
	"e1000e": {"e1000e", "e1000e"},
	"e1000":  {"e1000", "e1000"},
}

func (n NIC) withDefaults() (NIC, error) {
	if n.Model == "" {
		n.Model = "virtio"
		if n.VFIO {
			n.Model = "e1000e"
		}
	}
	if _, ok := nicModels[n.Model]; !ok {
		return n, fmt.Errorf("lab: NIC model %q: want virtio, e1000e or e1000", n.Model)
	}
	if n.Hub < 0 || n.Hub > 255 {
		return n, fmt.Errorf("lab: NIC hub %d: want 0 to 255", n.Hub)
	}
	return n, nil
}

func (c Config) needIOMMU() bool {
	return slices.ContainsFunc(c.NICs, func(n NIC) bool { return n.VFIO })
}

// nicArgs are QEMU's arguments. The IOMMU comes before what it serves.
func (c Config) nicArgs() []string {
	var args []string
	if c.needIOMMU() {
		args = append(args, "-device", "intel-iommu,intremap=on")
	}
	for i, n := range c.NICs {
		backend := fmt.Sprintf("user,id=nic%d,net=10.0.%d.0/24", i, i+2)
		if n.Hub != 0 {
			backend = fmt.Sprintf("hubport,id=nic%d,hubid=%d", i, n.Hub)
		}
		device := fmt.Sprintf("%s,netdev=nic%d,addr=%x.0,mac=52:54:00:4c:41:%02x,romfile=", nicModels[n.Model].device, i, firstNICSlot+i, i+1)
		if n.VFIO && n.Model == "virtio" {
			device += ",iommu_platform=on,disable-legacy=on"
		}
		args = append(args, "-netdev", backend, "-device", device)
	}
	return args
}

// nicModules are the modules that the NICs want inside.
func (c Config) nicModules() []string {
	var out []string
	for _, n := range c.NICs {
		out = append(out, nicModels[n.Model].module)
	}
	if c.needIOMMU() {
		out = append(out, "vfio_pci", "vfio_iommu_type1")
	}
	return out
}

// wireNICs is what the init is told.
func (c Config) wireNICs() []wire.NIC {
	var out []wire.NIC
	for i, n := range c.NICs {
		w := wire.NIC{PCI: fmt.Sprintf("0000:00:%02x.0", firstNICSlot+i), VFIO: n.VFIO}
		if n.Hub == 0 && !n.VFIO {
			net := fmt.Sprintf("10.0.%d.", i+2)
			w.Address, w.Gateway, w.DNS = net+"15/24", net+"2", net+"3"
		}
		out = append(out, w)
	}
	return out
}
