// SPDX-License-Identifier: Apache-2.0

package kvm

// vCPU attribute types (KVM_XEN_VCPU_ATTR_TYPE_*).
const (
	xenVCPUInfo         = 0
	xenVCPUTimeInfo     = 1
	xenVCPURunstateAddr = 2
	xenVCPUID           = 6
	xenVCPUTimer        = 7
	xenVCPUUpcallVector = 8
	xenVCPUInfoHVA      = 9
)

// XenNoGPA is the address that takes a registered area away (Linux 5.18).
const XenNoGPA = ^uint64(0)

func (c *VCPU) setXenAttr(op string, typ uint16, fill func(u []byte)) error {
	a := xenAttr{typ: typ}
	fill(a.u[:])
	_, err := callStruct(&c.h, "KVM_XEN_VCPU_SET_ATTR "+op, reqXenVCPUSetAttr, &a)
	return err
}

// XenSetVCPUInfo tells the kernel where this vCPU's vcpu_info is.
func (c *VCPU) XenSetVCPUInfo(gpa uint64) error {
	return c.setXenAttr("vcpu_info", xenVCPUInfo, func(u []byte) { le.PutUint64(u, gpa) })
}

// XenSetVCPUInfoHVA does the same by host address; 0 takes it away. Needs
// XenSharedInfoHVA.
func (c *VCPU) XenSetVCPUInfoHVA(hva uintptr) error {
	return c.setXenAttr("vcpu_info", xenVCPUInfoHVA, func(u []byte) { le.PutUint64(u, uint64(hva)) })
}

// XenSetTimeInfo registers a secondary pvclock area.
func (c *VCPU) XenSetTimeInfo(gpa uint64) error {
	return c.setXenAttr("time info", xenVCPUTimeInfo, func(u []byte) { le.PutUint64(u, gpa) })
}

// XenSetRunstate registers the runstate area.
func (c *VCPU) XenSetRunstate(gpa uint64) error {
	return c.setXenAttr("runstate", xenVCPURunstateAddr, func(u []byte) { le.PutUint64(u, gpa) })
}

// XenSetVCPUID sets the number that hypercalls use for this vCPU.
func (c *VCPU) XenSetVCPUID(id uint32) error {
	return c.setXenAttr("vcpu id", xenVCPUID, func(u []byte) { le.PutUint32(u, id) })
}

// XenSetTimer gives the kernel the timer port and, if not 0, a deadline in
// guest ns.
func (c *VCPU) XenSetTimer(port uint32, deadline uint64) error {
	return c.setXenAttr("timer", xenVCPUTimer, func(u []byte) {
		le.PutUint32(u, port)
		le.PutUint32(u[4:], xenPriority2Level)
		le.PutUint64(u[8:], deadline)
	})
}

// XenSetVCPUUpcallVector sets this vCPU's own upcall vector; 0 none.
func (c *VCPU) XenSetVCPUUpcallVector(vector uint8) error {
	return c.setXenAttr("upcall vector", xenVCPUUpcallVector, func(u []byte) { u[0] = vector })
}
