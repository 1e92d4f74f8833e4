// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// In-kernel interrupt controllers, as named by Route.Chip and IRQChipState.ChipID.
const (
	ChipPICMaster = 0
	ChipPICSlave  = 1
	ChipIOAPIC    = 2
)

// CreateIRQChip puts PIC, IOAPIC and local APICs into the kernel; before the
// first CreateVCPU. Excludes SplitIRQChip.
func (v *VM) CreateIRQChip() error {
	_, err := v.h.call("KVM_CREATE_IRQCHIP", reqCreateIRQChip, 0)
	return err
}

// SplitIRQChip puts only the local APICs into the kernel and reserves pins
// GSI routes for a user-space IOAPIC; before the first CreateVCPU.
func (v *VM) SplitIRQChip(pins int) error { return v.EnableCap(CapSplitIRQChip, uint64(pins)) }

// CreatePIT2 adds the in-kernel i8254. It needs the full in-kernel irqchip.
func (v *VM) CreatePIT2() error {
	var c pitConfig
	_, err := callStruct(&v.h, "KVM_CREATE_PIT2", reqCreatePIT2, &c)
	return err
}

// IRQLine sets the level of an in-kernel irqchip input.
func (v *VM) IRQLine(gsi uint32, level bool) error {
	l := irqLevel{irq: gsi}
	if level {
		l.level = 1
	}
	_, err := callStruct(&v.h, "KVM_IRQ_LINE", reqIRQLine, &l)
	return err
}

// IRQChip reads the state of the in-kernel controller named by s.ChipID.
func (v *VM) IRQChip(s *IRQChipState) error {
	_, err := callStruct(&v.h, "KVM_GET_IRQCHIP", reqGetIRQChip, s)
	return err
}

// SetIRQChip writes it.
func (v *VM) SetIRQChip(s *IRQChipState) error {
	_, err := callStruct(&v.h, "KVM_SET_IRQCHIP", reqSetIRQChip, s)
	return err
}

// IRQFDOpts are the options of IRQFD. The zero value is an edge-triggered irqfd.
type IRQFDOpts struct {
	// Resample is an eventfd that KVM signals when the guest ends a
	// level-triggered interrupt, after lowering the line. It needs the full
	// irqchip and a non-zero descriptor; 0 means none.
	Resample int
	// Deassign undoes an earlier IRQFD with the same fd and gsi.
	Deassign bool
}

// IRQFD makes a write to eventfd fd raise gsi, without a system call into KVM.
func (v *VM) IRQFD(fd int, gsi uint32, o IRQFDOpts) error {
	r := irqFD{fd: uint32(fd), gsi: gsi}
	if o.Resample != 0 {
		r.flags |= 1 << 1
		r.resample = uint32(o.Resample)
	}
	if o.Deassign {
		r.flags |= 1 << 0
	}
	if _, err := callStruct(&v.h, "KVM_IRQFD", reqIRQFD, &r); err != nil {
		return fmt.Errorf("eventfd %d gsi %d: %w", fd, gsi, err)
	}
	return nil
}

// IOEvent describes an ioeventfd: a guest write that signals FD instead of
// exiting to user space.
type IOEvent struct {
	Addr      uint64 // port or guest-physical address
	Len       uint32 // 1, 2, 4 or 8 bytes; 0 any length
	FD        int
	PIO       bool // Addr is a port
	Match     bool // only writes of DataMatch
	DataMatch uint64
	Deassign  bool
}

// IOEventFD registers or (Deassign) removes an ioeventfd.
func (v *VM) IOEventFD(e IOEvent) error {
	r := ioEventFD{datamatch: e.DataMatch, addr: e.Addr, length: e.Len, fd: int32(e.FD)}
	for i, on := range [...]bool{e.Match, e.PIO, e.Deassign} {
		if on {
			r.flags |= 1 << i
		}
	}
	if _, err := callStruct(&v.h, "KVM_IOEVENTFD", reqIOEventFD, &r); err != nil {
		return fmt.Errorf("address %#x length %d eventfd %d: %w", e.Addr, e.Len, e.FD, err)
	}
	return nil
}

// SignalMSI delivers an MSI at once. delivered is false when no local APIC took
// it: the target does not exist or its APIC is software-disabled, and the
// interrupt is gone. It does not allocate.
func (v *VM) SignalMSI(addr uint64, data uint32) (delivered bool, err error) {
	m := msi{addrLo: uint32(addr), addrHi: uint32(addr >> 32), data: data}
	if !v.h.acquire() {
		return false, ErrClosed
	}
	n, errno := ioctlMSI(v.h.fd, &m)
	v.h.release()
	if errno != 0 {
		return false, v.h.failed("KVM_SIGNAL_MSI", errno)
	}
	return n > 0, nil
}

// MaxRoutes is KVM's limit on the GSI routing table (KVM_MAX_IRQ_ROUTES).
const MaxRoutes = 4096

// RouteType tells which fields of a Route count (KVM_IRQ_ROUTING_*).
type RouteType uint32

const (
	RouteIRQChip   RouteType = 1
	RouteMSI       RouteType = 2
	RouteXenEvtchn RouteType = 5
)

// Route sends one GSI somewhere. Build it with ToChip, ToMSI or ToXenEvtchn.
type Route struct {
	GSI       uint32
	Type      RouteType
	Chip, Pin uint32 // RouteIRQChip
	Addr      uint64 // RouteMSI
	Data      uint32 // RouteMSI
	Port      uint32 // RouteXenEvtchn; 2-level delivery
	VCPU      uint32
}

// ToChip routes gsi to a pin of an in-kernel PIC or IOAPIC.
func ToChip(gsi, chip, pin uint32) Route {
	return Route{GSI: gsi, Type: RouteIRQChip, Chip: chip, Pin: pin}
}

// ToMSI routes gsi to an MSI message.
func ToMSI(gsi uint32, addr uint64, data uint32) Route {
	return Route{GSI: gsi, Type: RouteMSI, Addr: addr, Data: data}
}

// ToXenEvtchn routes gsi to an event channel that the kernel delivers; needs
// CapXenHVM with XenEvtchn2Level.
func ToXenEvtchn(gsi, port, vcpu uint32) Route {
	return Route{GSI: gsi, Type: RouteXenEvtchn, Port: port, VCPU: vcpu}
}

// SetGSIRouting replaces the whole GSI routing table.
func (v *VM) SetGSIRouting(routes []Route) error {
	b, err := encodeRoutes(routes)
	if err != nil {
		return v.h.failed(err.Error(), unix.EINVAL)
	}
	_, err = callBytes(&v.h, "KVM_SET_GSI_ROUTING", reqSetGSIRouting, b)
	return err
}

// encodeRoutes lays the table out: {u32 nr, flags} and entries of 48 bytes
// {u32 gsi, type, flags, pad; 32 bytes by type}.
func encodeRoutes(routes []Route) ([]byte, error) {
	if len(routes) > MaxRoutes {
		return nil, fmt.Errorf("KVM_SET_GSI_ROUTING: %d routes, at most %d", len(routes), MaxRoutes)
	}
	b := make([]byte, sizeRoutingHeader+len(routes)*sizeRoutingEntry)
	le.PutUint32(b, uint32(len(routes)))
	for i, r := range routes {
		p := b[sizeRoutingHeader+i*sizeRoutingEntry:]
		var u [3]uint32
		switch r.Type {
		case RouteIRQChip:
			u = [3]uint32{r.Chip, r.Pin}
		case RouteMSI:
			u = [3]uint32{uint32(r.Addr), uint32(r.Addr >> 32), r.Data}
		case RouteXenEvtchn:
			u = [3]uint32{r.Port, r.VCPU, xenPriority2Level}
		default:
			return nil, fmt.Errorf("KVM_SET_GSI_ROUTING: route %d (gsi %d) has unknown type %d", i, r.GSI, r.Type)
		}
		le.PutUint32(p, r.GSI)
		le.PutUint32(p[4:], uint32(r.Type))
		for j, w := range u {
			le.PutUint32(p[16+4*j:], w)
		}
	}
	return b, nil
}
