// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"xenvmm/tests/lab/wire"
)

const pciDevices = "/sys/bus/pci/devices"

// setupNICs brings up the interfaces and returns what belongs into
// resolv.conf. Drivers are loaded, and have found their devices.
func setupNICs(nics []wire.NIC) (resolv string, err error) {
	for _, n := range nics {
		if n.VFIO {
			err = giveToVFIO(n.PCI)
		} else {
			err = setupNIC(n)
		}
		if err != nil {
			return "", fmt.Errorf("network interface %s: %w", n.PCI, err)
		}
		if n.DNS != "" {
			resolv += "nameserver " + n.DNS + "\n"
		}
	}
	return resolv, nil
}

// giveToVFIO takes a device from its driver, if it has one.
func giveToVFIO(pci string) error {
	dev := filepath.Join(pciDevices, pci)
	if err := os.WriteFile(filepath.Join(dev, "driver_override"), []byte("vfio-pci"), 0); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dev, "driver/unbind"), []byte(pci), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.WriteFile("/sys/bus/pci/drivers_probe", []byte(pci), 0); err != nil {
		return err
	}
	driver, err := os.Readlink(filepath.Join(dev, "driver"))
	if err != nil {
		return fmt.Errorf("vfio-pci doesn't take it: is there an IOMMU? %w", err)
	}
	if name := filepath.Base(driver); name != "vfio-pci" {
		return fmt.Errorf("%s took it, not vfio-pci", name)
	}
	return nil
}

// interfaceOf finds a device's interface: virtio has a device of its own in
// between.
func interfaceOf(pci string) (string, error) {
	for _, pattern := range []string{"net/*", "virtio*/net/*"} {
		if found, _ := filepath.Glob(filepath.Join(pciDevices, pci, pattern)); len(found) > 0 {
			return filepath.Base(found[0]), nil
		}
	}
	return "", errors.New("no driver has taken the device")
}

func setupNIC(n wire.NIC) error {
	name, err := interfaceOf(n.PCI)
	if err != nil {
		return err
	}
	if n.Address != "" {
		prefix, err := netip.ParsePrefix(n.Address)
		if err != nil {
			return err
		}
		if err := setAddress(name, prefix); err != nil {
			return err
		}
	}
	if err := setUp(name); err != nil {
		return err
	}
	if n.Gateway == "" {
		return nil
	}
	gateway, err := netip.ParseAddr(n.Gateway)
	if err != nil {
		return err
	}
	return addDefaultRoute(gateway)
}

// onInterface does a request of netdevice(7).
func onInterface(name string, do func(fd int, r *unix.Ifreq) error) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	return do(fd, r)
}

func setAddress(name string, p netip.Prefix) error {
	mask := binary.BigEndian.AppendUint32(nil, ^uint32(0)<<(32-p.Bits()))
	for _, step := range []struct {
		request uint
		addr    []byte
	}{{unix.SIOCSIFADDR, p.Addr().AsSlice()}, {unix.SIOCSIFNETMASK, mask}} {
		err := onInterface(name, func(fd int, r *unix.Ifreq) error {
			if err := r.SetInet4Addr(step.addr); err != nil {
				return err
			}
			return unix.IoctlIfreq(fd, step.request, r)
		})
		if err != nil {
			return fmt.Errorf("%s: address %v: %w", name, p, err)
		}
	}
	return nil
}

func setUp(name string) error {
	err := onInterface(name, func(fd int, r *unix.Ifreq) error {
		if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, r); err != nil {
			return err
		}
		r.SetUint16(r.Uint16() | unix.IFF_UP)
		return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
	})
	if err != nil {
		return fmt.Errorf("%s: bring up: %w", name, err)
	}
	return nil
}

// addDefaultRoute sends one netlink message, rtnetlink(7), and reads the
// answer. A second default route is not an error: the first stays.
func addDefaultRoute(gateway netip.Addr) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("default route: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, routeMessage(gateway), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("default route: %w", err)
	}
	var answer [4096]byte
	n, _, err := unix.Recvfrom(fd, answer[:], 0)
	if err != nil {
		return fmt.Errorf("default route: %w", err)
	}
	if n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return fmt.Errorf("default route: answer of %d bytes that is none", n)
	}
	no := unix.Errno(-int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])))
	if no != 0 && no != unix.EEXIST {
		return fmt.Errorf("default route by %v: %w", gateway, no)
	}
	return nil
}

// routeMessage is struct nlmsghdr, struct rtmsg and the attribute RTA_GATEWAY.
func routeMessage(gateway netip.Addr) []byte {
	const size = unix.SizeofNlMsghdr + unix.SizeofRtMsg + unix.SizeofRtAttr + 4
	e := binary.NativeEndian
	b := e.AppendUint32(nil, size)
	b = e.AppendUint16(b, unix.RTM_NEWROUTE)
	b = e.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	b = append(b, make([]byte, 8)...) // sequence number, port
	b = append(b, unix.AF_INET, 0, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RT_SCOPE_UNIVERSE, unix.RTN_UNICAST)
	b = append(b, make([]byte, 4)...) // flags
	b = e.AppendUint16(b, unix.SizeofRtAttr+4)
	b = e.AppendUint16(b, unix.RTA_GATEWAY)
	return append(b, gateway.AsSlice()...)
}
