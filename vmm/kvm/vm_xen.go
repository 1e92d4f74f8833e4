// SPDX-License-Identifier: Apache-2.0

package kvm

import "runtime"

// XenFlags are KVM_XEN_HVM_CONFIG_*: in CheckExtension(CapXenHVM) what the host
// offers, in XenHVMConfig.Flags what to switch on (only InterceptHcall and
// EvtchnSend may be asked for).
type XenFlags uint32

const (
	XenHypercallMSR   XenFlags = 1 << 0 // kernel fills the page from blobs
	XenInterceptHcall XenFlags = 1 << 1 // vmcall and vmmcall exit with ExitXen (5.12)
	XenSharedInfo     XenFlags = 1 << 2
	XenRunstate       XenFlags = 1 << 3
	XenEvtchn2Level   XenFlags = 1 << 4 // GSI routes to event channels (5.17)
	XenEvtchnSend     XenFlags = 1 << 5 // kernel-side EVTCHNOP_send and timers (5.19)
	// XenSharedInfoHVA: shared_info and vcpu_info may be told by host address (6.9).
	XenSharedInfoHVA XenFlags = 1 << 8
)

const xenPriority2Level = 0xffffffff

// XenHVMConfig is the argument of XenHVMConfig. MSR is the hypercall page MSR.
// With XenInterceptHcall the kernel writes the page itself and the blobs stay
// empty; otherwise they hold whole pages for 32- and 64-bit guests.
type XenHVMConfig struct {
	Flags          XenFlags
	MSR            uint32
	Blob32, Blob64 []byte // multiples of 4096 bytes, at most 255 pages
}

// XenHVMConfig switches the in-kernel Xen support on (KVM_XEN_HVM_CONFIG).
func (v *VM) XenHVMConfig(c XenHVMConfig) error {
	r := xenHVMConfig{flags: uint32(c.Flags), msr: c.MSR}
	var pin runtime.Pinner
	defer pin.Unpin()
	for _, b := range [...]struct {
		p    []byte
		addr *uint64
		size *uint8
	}{{c.Blob32, &r.blob32, &r.size32}, {c.Blob64, &r.blob64, &r.size64}} {
		if len(b.p) > 0 {
			pin.Pin(&b.p[0])
			*b.addr, *b.size = addressOf(&b.p[0]), uint8(min(len(b.p)/4096, 255))
		}
	}
	_, err := callStruct(&v.h, "KVM_XEN_HVM_CONFIG", reqXenHVMConfig, &r)
	return err
}

// VM attribute types (KVM_XEN_ATTR_TYPE_*).
const (
	xenAttrLongMode     = 0
	xenAttrSharedInfo   = 1
	xenAttrUpcallVector = 2
	xenAttrEvtchn       = 3
	xenAttrVersion      = 4
	xenAttrSharedHVA    = 6
)

func (v *VM) setXenAttr(op string, typ uint16, fill func(u []byte)) error {
	a := xenAttr{typ: typ}
	fill(a.u[:])
	_, err := callStruct(&v.h, "KVM_XEN_HVM_SET_ATTR "+op, reqXenHVMSetAttr, &a)
	return err
}

// XenSetLongMode chooses the width of shared_info and vcpu_info.
func (v *VM) XenSetLongMode(on bool) error {
	return v.setXenAttr("long mode", xenAttrLongMode, func(u []byte) {
		if on {
			u[0] = 1
		}
	})
}

// XenNoSharedInfo is the frame number that takes shared_info away.
const XenNoSharedInfo = ^uint64(0)

// XenSetSharedInfo tells the kernel the frame of shared_info.
func (v *VM) XenSetSharedInfo(gfn uint64) error {
	return v.setXenAttr("shared info", xenAttrSharedInfo, func(u []byte) { le.PutUint64(u, gfn) })
}

// XenSetSharedInfoHVA tells the kernel the host address of shared_info, page
// aligned; 0 takes it away. Wherever the guest has the page, and while it has it
// nowhere, events find it. The kernel writes the wall clock into the page at
// once, where the width of XenSetLongMode has it, so set that first. Needs
// XenSharedInfoHVA.
func (v *VM) XenSetSharedInfoHVA(hva uintptr) error {
	return v.setXenAttr("shared info", xenAttrSharedHVA, func(u []byte) { le.PutUint64(u, uint64(hva)) })
}

// XenSetUpcallVector sets the domain-wide callback vector; 0 none.
func (v *VM) XenSetUpcallVector(vector uint8) error {
	return v.setXenAttr("upcall vector", xenAttrUpcallVector, func(u []byte) { u[0] = vector })
}

// XenSetVersion sets what XENVER_version answers in the kernel (major<<16 | minor).
func (v *VM) XenSetVersion(version uint32) error {
	return v.setXenAttr("version", xenAttrVersion, func(u []byte) { le.PutUint32(u, version) })
}

// XenPort tells the kernel how to handle the guest's EVTCHNOP_send on Send.
type XenPort struct {
	Send uint32
	Type uint32 // EVTCHNSTAT_ipi (5) or EVTCHNSTAT_interdomain (2)
	// Port and VCPU deliver to the guest itself; with Port 0, EventFD is signalled.
	Port, VCPU uint32
	EventFD    int
	Deassign   bool
	Update     bool
}

// XenSetPort sets, updates or removes the in-kernel handling of one port.
func (v *VM) XenSetPort(p XenPort) error {
	return v.setXenAttr("event channel", xenAttrEvtchn, func(u []byte) {
		var flags uint32
		if p.Deassign {
			flags |= 1 << 0
		}
		if p.Update {
			flags |= 1 << 1
		}
		le.PutUint32(u, p.Send)
		le.PutUint32(u[4:], p.Type)
		le.PutUint32(u[8:], flags)
		le.PutUint32(u[12:], p.Port)
		if p.Port == 0 {
			le.PutUint32(u[16:], uint32(int32(p.EventFD)))
			return
		}
		le.PutUint32(u[16:], p.VCPU)
		le.PutUint32(u[20:], xenPriority2Level)
	})
}

// XenResetPorts forgets all ports set by XenSetPort.
func (v *VM) XenResetPorts() error {
	return v.setXenAttr("event channel reset", xenAttrEvtchn, func(u []byte) { le.PutUint32(u[8:], 1<<2) })
}

// XenEvtchnSend has the kernel deliver a 2-level event.
func (v *VM) XenEvtchnSend(port, vcpu uint32) error {
	e := xenEvtchn{port: port, vcpu: vcpu, priority: xenPriority2Level}
	_, err := callStruct(&v.h, "KVM_XEN_HVM_EVTCHN_SEND", reqXenEvtchnSend, &e)
	return err
}
