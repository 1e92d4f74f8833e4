// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"errors"
	"maps"
	"slices"

	"xenvmm/vmm/irq"
	"xenvmm/vmm/kvm"
	"xenvmm/xenshim/abi"
)

// eventGSI is the interrupt number that stands for a host event in KVM's routing
// table; those below are lines of the IOAPIC.
func eventGSI(event int) uint32 { return irq.LastGSI + 1 + uint32(event) }

// connect tells KVM about ports, and returns the vCPUs to whom a port of another
// vCPU's was given.
func (k *kernelEvents) connect() (moved []int, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.tellDomain(); err != nil {
		return nil, err
	}
	a, err := k.tellSends()
	if err != nil {
		return nil, err
	}
	b, err := k.tellRoutes()
	moved = append(a, b...)
	slices.Sort(moved)
	return slices.Compact(moved), err
}

// tellDomain tells width and vector of the whole domain. As Xen has it, a vCPU
// with a vector of its own does not take the domain's; KVM would present both.
// So it is told of the domain's only while no vCPU has one.
func (k *kernelEvents) tellDomain() error {
	if w := k.m.domain.Events().Width(); w != k.width {
		if err := k.m.vm.XenSetLongMode(w == abi.Width64); err != nil {
			return err
		}
		k.width = w
	}
	vector := k.m.callbackVector.Load()
	for i := range k.m.vectors {
		if k.m.vectors[i].Load() != 0 {
			vector = 0
		}
	}
	if vector != k.vector.Load() {
		if err := k.m.vm.XenSetUpcallVector(uint8(vector)); err != nil {
			return err
		}
		k.vector.Store(vector)
	}
	return nil
}

// tellSends tells where events go that the guest sends.
func (k *kernelEvents) tellSends() (moved []int, err error) {
	want := k.wantedSends()
	for _, port := range slices.Collect(maps.Keys(k.sends)) {
		told, w := k.sends[port], want[port]
		if w == told {
			delete(want, port)
			continue
		}
		if told.VCPU != w.VCPU && w.Port != 0 && told == (kvm.XenPort{Send: w.Send, Type: w.Type, Port: w.Port, VCPU: told.VCPU}) {
			w.Update = true
			want[port] = w
			continue
		}
		told.Deassign = true
		if err := k.m.vm.XenSetPort(told); err != nil {
			return nil, err
		}
		delete(k.sends, port)
	}
	for port, w := range want {
		if err := k.m.vm.XenSetPort(w); err != nil {
			return nil, err
		}
		if w.Update {
			moved = append(moved, int(w.VCPU))
		}
		w.Update = false
		k.sends[port] = w
	}
	return moved, nil
}

// wantedSends are the ports whose sends KVM can serve, as they are bound now.
func (k *kernelEvents) wantedSends() map[uint32]kvm.XenPort {
	outbound := map[uint32]int{} // descriptor by port
	for _, e := range k.m.events {
		if p := e.Port(); p != 0 {
			outbound[p] = e.outbound.FD()
		}
	}
	events := k.m.domain.Events()
	want := map[uint32]kvm.XenPort{}
	for port := uint32(1); ; port++ {
		st, e := events.Status(abi.DomIDSelf, port)
		if e != abi.OK {
			return want // beyond the last port
		}
		switch {
		case st.State == abi.EvtchnStatIPI && k.reaches(int(st.VCPU)):
			want[port] = kvm.XenPort{Send: port, Type: st.State, Port: port, VCPU: st.VCPU}
		case st.State != abi.EvtchnStatInterdomain:
		case st.Dom == abi.DomIDBackend:
			if fd, ok := outbound[port]; ok {
				want[port] = kvm.XenPort{Send: port, Type: st.State, EventFD: fd}
			}
		default:
			peer, e := events.Status(abi.DomIDSelf, st.Port)
			if e == abi.OK && peer.State == abi.EvtchnStatInterdomain && peer.Dom == st.Dom && peer.Port == port && k.reaches(int(peer.VCPU)) {
				want[port] = kvm.XenPort{Send: port, Type: st.State, Port: st.Port, VCPU: peer.VCPU}
			}
		}
	}
}

// tellRoutes tells where host events go. An event is this program's to deliver
// while it has no route.
func (k *kernelEvents) tellRoutes() (moved []int, err error) {
	want := make([]kvm.Route, len(k.routes))
	for i, e := range k.m.events {
		if port := e.Port(); port != 0 {
			st, errno := k.m.domain.Events().Status(abi.DomIDSelf, port)
			if errno == abi.OK && st.State == abi.EvtchnStatInterdomain && k.reaches(int(st.VCPU)) {
				want[i] = kvm.ToXenEvtchn(eventGSI(i), port, st.VCPU)
			}
		}
	}
	if slices.Equal(want, k.routes) {
		return nil, nil
	}
	for i, e := range k.m.events {
		if want[i].Port == 0 {
			err = errors.Join(err, e.disengage(k.m, i))
		}
	}
	table := k.lines()
	for _, r := range want {
		if r.Port != 0 {
			table = append(table, r)
		}
	}
	if err = errors.Join(err, k.m.vm.SetGSIRouting(table)); err != nil {
		return nil, err
	}
	for i, e := range k.m.events {
		if want[i].Port == 0 {
			continue
		}
		if k.routes[i].Port == want[i].Port && k.routes[i].VCPU != want[i].VCPU {
			moved = append(moved, int(want[i].VCPU))
		}
		err = errors.Join(err, e.engage(k.m, i))
	}
	k.routes = want
	return moved, err
}

// lines are the routes of interrupt lines, as KVM has them until it is given a
// table.
func (k *kernelEvents) lines() (table []kvm.Route) {
	if k.m.cfg.IRQChip == IRQChipSplit {
		return nil
	}
	for gsi := range uint32(irq.LastGSI + 1) {
		if gsi < 16 {
			table = append(table, kvm.ToChip(gsi, kvm.ChipPICMaster+gsi/8, gsi%8))
		}
		table = append(table, kvm.ToChip(gsi, kvm.ChipIOAPIC, gsi))
	}
	return table
}
