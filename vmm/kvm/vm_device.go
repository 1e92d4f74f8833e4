// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// DeviceVFIO is the pseudo device that ties VFIO groups to a VM (KVM_DEV_TYPE_VFIO).
const DeviceVFIO = 4

// Device is an in-kernel device's descriptor.
type Device struct{ h handle }

// CreateDevice makes an in-kernel device; DeviceVFIO is the only type used here.
func (v *VM) CreateDevice(typ uint32) (*Device, error) {
	r := createDevice{typ: typ}
	if _, err := callStruct(&v.h, "KVM_CREATE_DEVICE", reqCreateDevice, &r); err != nil {
		return nil, fmt.Errorf("type %d: %w", typ, err)
	}
	d, fd := new(Device), int(r.fd)
	d.h.init(fd, fmt.Sprintf("kvm device type %d", typ), v.onLeak, func() error { return unix.Close(fd) })
	watch(d, &d.h)
	return d, nil
}

// SetAttr sets an attribute whose value is a 32-bit number, such as the
// descriptor of a VFIO group.
func (d *Device) SetAttr(group uint32, attr uint64, value uint32) error {
	val := &value
	var pin runtime.Pinner
	pin.Pin(val)
	defer pin.Unpin()
	a := deviceAttr{group: group, attr: attr, addr: addressOf(val)}
	if _, err := callStruct(&d.h, "KVM_SET_DEVICE_ATTR", reqSetDeviceAttr, &a); err != nil {
		return fmt.Errorf("group %d attribute %d: %w", group, attr, err)
	}
	return nil
}

// Close gives the device back; VFIO needs it to stay open while the VM runs.
func (d *Device) Close() error { return d.h.close() }
