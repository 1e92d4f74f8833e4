// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"fmt"
	"math"
	"testing"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

const (
	self  = abi.DomIDSelf
	other = abi.DomID(8) // no such domain
)

// fill opens all ports that are left.
func (g *rig) fill() {
	for {
		if _, e := g.BindIPI(0); e != abi.OK {
			want(g.t, "filling the table ends with", e, abi.ENOSPC)
			return
		}
	}
}

func TestErrorsOfEachOperation(t *testing.T) {
	type op = func(g *rig) abi.Errno
	only := func(_ uint32, e abi.Errno) abi.Errno { return e }
	for _, c := range []struct {
		name  string
		want  abi.Errno
		setup func(g *rig)
		op    op
	}{
		{"alloc_unbound for the own domain", abi.OK, nil, func(g *rig) abi.Errno { return only(g.AllocUnbound(self, 0)) }},
		{"alloc_unbound by own number", abi.OK, nil, func(g *rig) abi.Errno { return only(g.AllocUnbound(domain, 0)) }},
		{"alloc_unbound for a remote that does not exist", abi.OK, nil, func(g *rig) abi.Errno { return only(g.AllocUnbound(self, other)) }},
		{"alloc_unbound in the backend's domain", abi.EPERM, nil, func(g *rig) abi.Errno { return only(g.AllocUnbound(0, self)) }},
		{"alloc_unbound in no domain", abi.ESRCH, nil, func(g *rig) abi.Errno { return only(g.AllocUnbound(other, 0)) }},
		{"alloc_unbound in DOMID_INVALID", abi.ESRCH, nil, func(g *rig) abi.Errno { return only(g.AllocUnbound(abi.DomIDInvalid, 0)) }},
		{"alloc_unbound when full", abi.ENOSPC, (*rig).fill, func(g *rig) abi.Errno { return only(g.AllocUnbound(self, 0)) }},

		{"bind_interdomain to an own unbound port", abi.OK, func(g *rig) { g.AllocUnbound(self, self) }, func(g *rig) abi.Errno { return only(g.BindInterdomain(g.r, 0, self, 1)) }},
		{"bind_interdomain by own number", abi.OK, func(g *rig) { g.AllocUnbound(self, domain) }, func(g *rig) abi.Errno { return only(g.BindInterdomain(g.r, 0, domain, 1)) }},
		{"bind_interdomain to the backend", abi.OK, func(g *rig) { g.AllocHost(nil) }, func(g *rig) abi.Errno { return only(g.BindInterdomain(g.r, 0, 0, 1)) }},
		{"bind_interdomain to a backend port in use", abi.EINVAL, func(g *rig) { g.host(nil) }, func(g *rig) abi.Errno { return only(g.BindInterdomain(g.r, 0, 0, 1)) }},
		{"bind_interdomain to backend port 0", abi.EINVAL, nil, func(g *rig) abi.Errno { return only(g.BindInterdomain(g.r, 0, 0, 0)) }},
		{"bind_interdomain to a backend port that does not exist", abi.EINVAL, nil, func(g *rig) abi.Errno { return only(g.BindInterdomain(g.r, 0, 0, math.MaxUint32)) }},
		{"bind_interdomain to a port for another domain", abi.EINVAL, func(g *rig) { g.AllocUnbound(self, 0) }, func(g *rig) abi.Errno { return only(g.BindInterdomain(g.r, 0, self, 1)) }},
		{"bind_interdomain to the port it is about to get", abi.EINVAL, nil, func(g *rig) abi.Errno { return only(g.BindInterdomain(g.r, 0, self, 1)) }},
		{"bind_interdomain to an IPI", abi.EINVAL, func(g *rig) { g.BindIPI(0) }, func(g *rig) abi.Errno { return only(g.BindInterdomain(g.r, 0, self, 1)) }},
		{"bind_interdomain to port 0", abi.EINVAL, nil, func(g *rig) abi.Errno { return only(g.BindInterdomain(g.r, 0, self, 0)) }},
		{"bind_interdomain out of range", abi.EINVAL, nil, func(g *rig) abi.Errno { return only(g.BindInterdomain(g.r, 0, self, 4096)) }},
		{"bind_interdomain with no domain", abi.ESRCH, nil, func(g *rig) abi.Errno { return only(g.BindInterdomain(g.r, 0, other, 1)) }},
		{"bind_interdomain when full", abi.ENOSPC, func(g *rig) { g.AllocUnbound(self, self); g.fill() }, func(g *rig) abi.Errno { return only(g.BindInterdomain(g.r, 0, self, 1)) }},

		{"bind_virq timer", abi.OK, nil, func(g *rig) abi.Errno { return only(g.BindVIRQ(abi.VIRQTimer, 1)) }},
		{"bind_virq debug", abi.OK, nil, func(g *rig) abi.Errno { return only(g.BindVIRQ(abi.VIRQDebug, 1)) }},
		{"bind_virq global", abi.OK, nil, func(g *rig) abi.Errno { return only(g.BindVIRQ(abi.VIRQArgo, 0)) }},
		{"bind_virq of arch 7, the last", abi.OK, nil, func(g *rig) abi.Errno { return only(g.BindVIRQ(23, 0)) }},
		{"bind_virq 24", abi.EINVAL, nil, func(g *rig) abi.Errno { return only(g.BindVIRQ(24, 0)) }},
		{"bind_virq huge", abi.EINVAL, nil, func(g *rig) abi.Errno { return only(g.BindVIRQ(math.MaxUint32, 0)) }},
		{"bind_virq global on vCPU 1", abi.EINVAL, nil, func(g *rig) abi.Errno { return only(g.BindVIRQ(abi.VIRQConsole, 1)) }},
		{"bind_virq global on no vCPU", abi.EINVAL, nil, func(g *rig) abi.Errno { return only(g.BindVIRQ(abi.VIRQConsole, 99)) }},
		{"bind_virq on no vCPU", abi.ENOENT, nil, func(g *rig) abi.Errno { return only(g.BindVIRQ(abi.VIRQTimer, 2)) }},
		{"bind_virq on vCPU -1", abi.ENOENT, nil, func(g *rig) abi.Errno { return only(g.BindVIRQ(abi.VIRQTimer, math.MaxUint32)) }},
		{"bind_virq twice", abi.EEXIST, func(g *rig) { g.BindVIRQ(abi.VIRQTimer, 1) }, func(g *rig) abi.Errno { return only(g.BindVIRQ(abi.VIRQTimer, 1)) }},
		{"bind_virq again on another vCPU", abi.OK, func(g *rig) { g.BindVIRQ(abi.VIRQTimer, 1) }, func(g *rig) abi.Errno { return only(g.BindVIRQ(abi.VIRQTimer, 0)) }},
		{"bind_virq after its close", abi.OK, func(g *rig) { g.BindVIRQ(abi.VIRQTimer, 1); g.ClosePort(1) }, func(g *rig) abi.Errno { return only(g.BindVIRQ(abi.VIRQTimer, 1)) }},
		{"bind_virq when full", abi.ENOSPC, (*rig).fill, func(g *rig) abi.Errno { return only(g.BindVIRQ(abi.VIRQTimer, 0)) }},
		{"bind_virq twice when full", abi.EEXIST, func(g *rig) { g.BindVIRQ(0, 0); g.fill() }, func(g *rig) abi.Errno { return only(g.BindVIRQ(0, 0)) }},

		{"bind_pirq", abi.OK, nil, func(g *rig) abi.Errno { return only(g.BindPIRQ(15, 1)) }},
		{"bind_pirq one past the last", abi.EINVAL, nil, func(g *rig) abi.Errno { return only(g.BindPIRQ(16, 0)) }},
		{"bind_pirq huge", abi.EINVAL, nil, func(g *rig) abi.Errno { return only(g.BindPIRQ(math.MaxUint32, 0)) }},
		{"bind_pirq twice", abi.EEXIST, func(g *rig) { g.BindPIRQ(3, 0) }, func(g *rig) abi.Errno { return only(g.BindPIRQ(3, 0)) }},
		{"bind_pirq after its close", abi.OK, func(g *rig) { g.BindPIRQ(3, 0); g.ClosePort(1) }, func(g *rig) abi.Errno { return only(g.BindPIRQ(3, 0)) }},

		{"bind_ipi", abi.OK, nil, func(g *rig) abi.Errno { return only(g.BindIPI(1)) }},
		{"bind_ipi on no vCPU", abi.ENOENT, nil, func(g *rig) abi.Errno { return only(g.BindIPI(2)) }},
		{"bind_ipi on vCPU 2^31", abi.ENOENT, nil, func(g *rig) abi.Errno { return only(g.BindIPI(1 << 31)) }},
		{"bind_ipi when full", abi.ENOSPC, (*rig).fill, func(g *rig) abi.Errno { return only(g.BindIPI(0)) }},

		{"close", abi.OK, func(g *rig) { g.BindIPI(0) }, func(g *rig) abi.Errno { return g.ClosePort(1) }},
		{"close of a free port", abi.EINVAL, nil, func(g *rig) abi.Errno { return g.ClosePort(1) }},
		{"close twice", abi.EINVAL, func(g *rig) { g.BindIPI(0); g.ClosePort(1) }, func(g *rig) abi.Errno { return g.ClosePort(1) }},
		{"close of port 0", abi.EINVAL, nil, func(g *rig) abi.Errno { return g.ClosePort(0) }},
		{"close out of range", abi.EINVAL, nil, func(g *rig) abi.Errno { return g.ClosePort(4096) }},
		{"close of port -1", abi.EINVAL, nil, func(g *rig) abi.Errno { return g.ClosePort(math.MaxUint32) }},

		{"send on an IPI", abi.OK, func(g *rig) { g.BindIPI(1) }, func(g *rig) abi.Errno { return g.Send(g.r, 1) }},
		{"send on a masked port", abi.OK, func(g *rig) { g.BindIPI(1); g.mask(1) }, func(g *rig) abi.Errno { return g.Send(g.r, 1) }},
		{"send on an unbound port", abi.OK, func(g *rig) { g.AllocUnbound(self, 0) }, func(g *rig) abi.Errno { return g.Send(g.r, 1) }},
		{"send to a backend", abi.OK, func(g *rig) { g.host(nil) }, func(g *rig) abi.Errno { return g.Send(g.r, 1) }},
		{"send on a VIRQ", abi.EINVAL, func(g *rig) { g.BindVIRQ(0, 0) }, func(g *rig) abi.Errno { return g.Send(g.r, 1) }},
		{"send on a PIRQ", abi.EINVAL, func(g *rig) { g.BindPIRQ(0, 0) }, func(g *rig) abi.Errno { return g.Send(g.r, 1) }},
		{"send on a closed port", abi.EINVAL, nil, func(g *rig) abi.Errno { return g.Send(g.r, 1) }},
		{"send on port 0", abi.EINVAL, nil, func(g *rig) abi.Errno { return g.Send(g.r, 0) }},
		{"send out of range", abi.EINVAL, nil, func(g *rig) abi.Errno { return g.Send(g.r, 4096) }},
		{"send on port -1", abi.EINVAL, nil, func(g *rig) abi.Errno { return g.Send(g.r, math.MaxUint32) }},
		{"send beyond the 32-bit limit", abi.EINVAL, func(g *rig) { g.fill(); g.SetWidth(abi.Width32) }, func(g *rig) abi.Errno { return g.Send(g.r, 1024) }},
		{"send at the 32-bit limit", abi.OK, func(g *rig) { g.fill(); g.SetWidth(abi.Width32) }, func(g *rig) abi.Errno { return g.Send(g.r, 1023) }},

		{"status of the own domain", abi.OK, nil, func(g *rig) abi.Errno { _, e := g.Status(self, 1); return e }},
		{"status by own number", abi.OK, nil, func(g *rig) abi.Errno { _, e := g.Status(domain, 1); return e }},
		{"status of the backend's domain", abi.EPERM, nil, func(g *rig) abi.Errno { _, e := g.Status(0, 1); return e }},
		{"status of no domain", abi.ESRCH, nil, func(g *rig) abi.Errno { _, e := g.Status(other, 1); return e }},
		{"status out of range", abi.EINVAL, nil, func(g *rig) abi.Errno { _, e := g.Status(self, 4096); return e }},
		{"status out of range of no domain", abi.ESRCH, nil, func(g *rig) abi.Errno { _, e := g.Status(other, 4096); return e }},

		{"bind_vcpu of an unbound port", abi.OK, func(g *rig) { g.AllocUnbound(self, 0) }, func(g *rig) abi.Errno { return g.BindVCPU(1, 1) }},
		{"bind_vcpu of an interdomain port", abi.OK, func(g *rig) { g.host(nil) }, func(g *rig) abi.Errno { return g.BindVCPU(1, 1) }},
		{"bind_vcpu of a PIRQ", abi.OK, func(g *rig) { g.BindPIRQ(0, 0) }, func(g *rig) abi.Errno { return g.BindVCPU(1, 1) }},
		{"bind_vcpu of a global VIRQ", abi.OK, func(g *rig) { g.BindVIRQ(abi.VIRQArgo, 0) }, func(g *rig) abi.Errno { return g.BindVCPU(1, 1) }},
		{"bind_vcpu of a per-vCPU VIRQ", abi.EINVAL, func(g *rig) { g.BindVIRQ(0, 0) }, func(g *rig) abi.Errno { return g.BindVCPU(1, 1) }},
		{"bind_vcpu of a per-vCPU VIRQ to where it is", abi.EINVAL, func(g *rig) { g.BindVIRQ(0, 0) }, func(g *rig) abi.Errno { return g.BindVCPU(1, 0) }},
		{"bind_vcpu of an IPI", abi.EINVAL, func(g *rig) { g.BindIPI(0) }, func(g *rig) abi.Errno { return g.BindVCPU(1, 1) }},
		{"bind_vcpu of a closed port", abi.EINVAL, nil, func(g *rig) abi.Errno { return g.BindVCPU(1, 1) }},
		{"bind_vcpu of port 0", abi.EINVAL, nil, func(g *rig) abi.Errno { return g.BindVCPU(0, 1) }},
		{"bind_vcpu out of range", abi.EINVAL, nil, func(g *rig) abi.Errno { return g.BindVCPU(4096, 1) }},
		{"bind_vcpu to no vCPU", abi.ENOENT, func(g *rig) { g.host(nil) }, func(g *rig) abi.Errno { return g.BindVCPU(1, 2) }},
		{"bind_vcpu of a bad port to no vCPU", abi.ENOENT, nil, func(g *rig) abi.Errno { return g.BindVCPU(4096, math.MaxUint32) }},

		{"unmask", abi.OK, func(g *rig) { g.BindIPI(0) }, func(g *rig) abi.Errno { return g.Unmask(g.r, 0, 1) }},
		{"unmask of a closed port", abi.OK, nil, func(g *rig) abi.Errno { return g.Unmask(g.r, 0, 1) }},
		{"unmask out of range", abi.EINVAL, nil, func(g *rig) abi.Errno { return g.Unmask(g.r, 0, 4096) }},
		{"unmask of port -1", abi.EINVAL, nil, func(g *rig) abi.Errno { return g.Unmask(g.r, 0, math.MaxUint32) }},
		{"unmask beyond the 32-bit limit", abi.EINVAL, func(g *rig) { g.fill(); g.SetWidth(abi.Width32) }, func(g *rig) abi.Errno { return g.Unmask(g.r, 0, 1024) }},

		{"reset", abi.OK, nil, func(g *rig) abi.Errno { return g.Reset(g.r, self) }},
		{"reset by own number", abi.OK, nil, func(g *rig) abi.Errno { return g.Reset(g.r, domain) }},
		{"reset of the backend's domain", abi.EPERM, nil, func(g *rig) abi.Errno { return g.Reset(g.r, 0) }},
		{"reset of no domain", abi.ESRCH, nil, func(g *rig) abi.Errno { return g.Reset(g.r, other) }},

		{"init_control", abi.ENOSYS, nil, func(g *rig) abi.Errno { _, e := g.InitControl(2, 0, 0); return e }},
		{"init_control for no vCPU", abi.ENOSYS, nil, func(g *rig) abi.Errno { _, e := g.InitControl(2, 5000, 99); return e }},
		{"expand_array", abi.ENOSYS, nil, func(g *rig) abi.Errno { return g.ExpandArray(2) }},
		{"set_priority", abi.ENOSYS, nil, func(g *rig) abi.Errno { return g.SetPriority(1, 3) }},

		{"poll of nothing", abi.OK, nil, func(g *rig) abi.Errno { _, e := g.AnyPending(g.r, nil); return e }},
		{"poll of port 0 and closed ports", abi.OK, nil, func(g *rig) abi.Errno { _, e := g.AnyPending(g.r, []uint32{0, 1, 4095}); return e }},
		{"poll out of range", abi.EINVAL, nil, func(g *rig) abi.Errno { _, e := g.AnyPending(g.r, []uint32{1, 4096}); return e }},
		{"poll beyond the 32-bit limit", abi.EINVAL, func(g *rig) { g.SetWidth(abi.Width32) }, func(g *rig) abi.Errno { _, e := g.AnyPending(g.r, []uint32{1024}); return e }},

		{"vcpu_info", abi.OK, nil, func(g *rig) abi.Errno { return g.RegisterVCPUInfo(g.r, 1, ramAt+8) }},
		{"vcpu_info at the end of a page", abi.OK, nil, func(g *rig) abi.Errno { return g.RegisterVCPUInfo(g.r, 1, ramAt+4096-64) }},
		{"vcpu_info across a page", abi.ENXIO, nil, func(g *rig) abi.Errno { return g.RegisterVCPUInfo(g.r, 1, ramAt+4096-56) }},
		{"vcpu_info at an odd address", abi.ENXIO, nil, func(g *rig) abi.Errno { return g.RegisterVCPUInfo(g.r, 1, ramAt+1) }},
		{"vcpu_info on 4 bytes, 64-bit", abi.ENXIO, nil, func(g *rig) abi.Errno { return g.RegisterVCPUInfo(g.r, 1, ramAt+4) }},
		{"vcpu_info on 4 bytes, 32-bit", abi.OK, func(g *rig) { g.SetWidth(abi.Width32) }, func(g *rig) abi.Errno { return g.RegisterVCPUInfo(g.r, 1, ramAt+4) }},
		{"vcpu_info on 2 bytes, 32-bit", abi.ENXIO, func(g *rig) { g.SetWidth(abi.Width32) }, func(g *rig) abi.Errno { return g.RegisterVCPUInfo(g.r, 1, ramAt+2) }},
		{"vcpu_info twice", abi.EBUSY, func(g *rig) { g.RegisterVCPUInfo(g.r, 1, ramAt) }, func(g *rig) abi.Errno { return g.RegisterVCPUInfo(g.r, 1, ramAt+64) }},
		{"vcpu_info again, misaligned", abi.ENXIO, func(g *rig) { g.RegisterVCPUInfo(g.r, 1, ramAt) }, func(g *rig) abi.Errno { return g.RegisterVCPUInfo(g.r, 1, ramAt+2) }},
		{"vcpu_info where no memory is", abi.EINVAL, nil, func(g *rig) abi.Errno { return g.RegisterVCPUInfo(g.r, 1, holeAt) }},
		{"vcpu_info at the end of the address space", abi.EINVAL, nil, func(g *rig) abi.Errno { return g.RegisterVCPUInfo(g.r, 1, math.MaxUint64-63) }},
		{"vcpu_info of no vCPU", abi.ENOENT, nil, func(g *rig) abi.Errno { return g.RegisterVCPUInfo(g.r, 2, ramAt) }},
		{"vcpu_info of vCPU -1", abi.ENOENT, nil, func(g *rig) abi.Errno { return g.RegisterVCPUInfo(g.r, -1, ramAt) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newRig(t, 2, withPIRQs(16))
			if c.setup != nil {
				c.setup(g)
			}
			before := g.Stats().Ports
			e := c.op(g)
			want(t, "result", e, c.want)
			if e != abi.OK {
				want(t, "open ports after a failure", g.Stats().Ports, before)
			}
		})
	}
}

func TestConfigIsChecked(t *testing.T) {
	set, err := gpc.NewSet(newMemory(t, 1), gpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := &rig{}
	good := Config{VCPUs: 1, Domain: 1, Caches: set, Upcall: g, Wake: g}
	for name, f := range map[string]func(*Config){
		"no vCPUs":         func(c *Config) { c.VCPUs = 0 },
		"too many vCPUs":   func(c *Config) { c.VCPUs = 1 << 20 },
		"backend's domain": func(c *Config) { c.Domain = 0 },
		"reserved domain":  func(c *Config) { c.Domain = abi.DomIDSelf },
		"negative pirqs":   func(c *Config) { c.PIRQs = -1 },
		"no caches":        func(c *Config) { c.Caches = nil },
		"no upcaller":      func(c *Config) { c.Upcall = nil },
		"no waker":         func(c *Config) { c.Wake = nil },
	} {
		c := good
		f(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	table, err := New(good)
	if err != nil {
		t.Fatal(err)
	}
	table.Close()
}

func TestStatusTellsWhatAPortIs(t *testing.T) {
	g := newRig(t, 3, withPIRQs(16))
	for _, c := range []struct {
		name string
		port func() uint32
		want Status
	}{
		{"port 0", func() uint32 { return 0 }, Status{State: abi.EvtchnStatClosed}},
		{"free", func() uint32 { return 99 }, Status{State: abi.EvtchnStatClosed}},
		{"unbound", func() uint32 { return g.ok(g.AllocUnbound(self, 5)) }, Status{State: abi.EvtchnStatUnbound, Dom: 5}},
		{"unbound for itself", func() uint32 { return g.ok(g.AllocUnbound(self, self)) }, Status{State: abi.EvtchnStatUnbound, Dom: domain}},
		{"ipi", func() uint32 { return g.ok(g.BindIPI(2)) }, Status{State: abi.EvtchnStatIPI, VCPU: 2}},
		{"virq", func() uint32 { return g.ok(g.BindVIRQ(abi.VIRQDebug, 1)) }, Status{State: abi.EvtchnStatVIRQ, VCPU: 1, VIRQ: abi.VIRQDebug}},
		{"pirq", func() uint32 { return g.ok(g.BindPIRQ(9, 0)) }, Status{State: abi.EvtchnStatPIRQ, PIRQ: 9}},
		{"backend", func() uint32 { return g.host(nil).Port() }, Status{State: abi.EvtchnStatInterdomain, Dom: 0, Port: 1}},
		{"loopback", func() uint32 { return g.ok(g.BindInterdomain(g.r, 0, self, 2)) }, Status{State: abi.EvtchnStatInterdomain, Dom: domain, Port: 2}},
		{"other end of the loopback", func() uint32 { return 2 }, Status{State: abi.EvtchnStatInterdomain, Dom: domain, Port: 7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, e := g.Status(self, c.port())
			want(t, "errno", e, abi.OK)
			want(t, "status", st, c.want)
		})
	}
}

func TestAllocationTakesTheLowestFreePort(t *testing.T) {
	g := newRig(t, 1)
	for i := range uint32(200) {
		want(t, "port", g.ok(g.BindIPI(0)), i+1)
	}
	for _, p := range []uint32{150, 64, 63, 3} {
		want(t, "close", g.ClosePort(p), abi.OK)
	}
	for _, p := range []uint32{3, 63, 64, 150, 201} {
		want(t, "port", g.ok(g.AllocUnbound(self, 0)), p)
	}
}

func TestPortsUpToTheLimitOfTheWidth(t *testing.T) {
	for w, limit := range map[abi.Width]int{abi.Width32: 1024, abi.Width64: 4096} {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			g := newRig(t, 1)
			g.SetWidth(w)
			g.fill()
			want(t, "ports", g.Stats().Ports, limit-1)
			_, e := g.BindHost(nil)
			if e == nil {
				t.Fatal("BindHost found a port in a full table")
			}
			want(t, "host ports left behind", len(g.hosts) < 2 || g.hosts[1] == nil, true)
		})
	}
}
