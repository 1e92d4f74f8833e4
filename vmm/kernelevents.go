// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"xenvmm/vmm/kvm"
	"xenvmm/vmm/vcpu"
	"xenvmm/xenshim/abi"
)

// Who delivers events, for Config.Evtchn.
const (
	EvtchnUser   = "user"   // this program
	EvtchnKernel = "kernel" // KVM, as far as it can: for comparison
)

// Evtchns returns the names for Config.Evtchn, the default first.
func Evtchns() []string { return []string{EvtchnUser, EvtchnKernel} }

// kernelEvents has KVM deliver events (EvtchnKernel). The domain's state stays
// where it is: bindings, masks, placement and polls are the domain's. KVM is told
// of what it needs to set the bits and interrupt the vCPU by itself, and told
// again after each hypercall that may have changed it:
//
//   - shared_info, by its host address, once: moving it needs no telling, and an
//     event that comes meanwhile finds it. (By frame number KVM would drop the
//     events that come while the frame has no memory.)
//   - each vCPU's vcpu_info and vector, the domain's vector and width;
//   - what the guest sends: IPIs, its channels to itself, and host events, which
//     arrive in an eventfd;
//   - what the host sends: each host event's eventfd becomes an irqfd.
//
// What KVM cannot do stays with this program, port by port: events for a vCPU
// that takes them by a line, events of timers, console and xenstore, and whatever
// KVM gives back because the memory is away.
//
// # Nothing is lost between the two
//
// KVM and this program set the same bits by the same locked instructions, and
// whoever sets a selector's bit announces it. A vCPU whose vcpu_info KVM had at
// another place, and one that is given a port of another's, looks at all its
// ports afterwards.
type kernelEvents struct {
	m      *Machine
	cpus   []kernelCPU
	vector atomic.Uint32 // the domain's, as KVM knows it; 0 if none

	mu     sync.Mutex // guards what follows, and the order of what KVM is told; not held while waiting for a vCPU
	width  abi.Width
	sends  map[uint32]kvm.XenPort // by the port the guest sends on
	routes []kvm.Route            // of host events, by index; without a port: none
}

// startKernelEvents prepares for a guest that has not run yet. shared is the
// host address of its shared_info page.
func startKernelEvents(m *Machine, shared uintptr) (*kernelEvents, error) {
	k := &kernelEvents{m: m, width: abi.Width64, sends: map[uint32]kvm.XenPort{}, routes: make([]kvm.Route, len(m.events))}
	k.cpus = newKernelCPUs(len(m.kvms), shared)
	// The width first: with the address KVM writes the wall clock at once.
	err := errors.Join(m.vm.XenSetLongMode(true), m.vm.XenSetSharedInfoHVA(shared))
	for i, c := range m.kvms {
		err = errors.Join(err, c.XenSetVCPUID(uint32(i)))
	}
	for i, e := range m.events {
		err = errors.Join(err, e.openOutbound(m.watch, func() { m.notified(i) }))
	}
	if err != nil {
		return nil, fmt.Errorf("hand event channels to the kernel: %w", err)
	}
	return k, k.follow(-1)
}

// needKernelEvents says what a host lacks for EvtchnKernel.
func needKernelEvents(have kvm.XenFlags) error {
	for _, f := range []struct {
		flag        kvm.XenFlags
		name, since string
	}{
		{kvm.XenSharedInfo, "SHARED_INFO", "5.12"}, {kvm.XenEvtchn2Level, "EVTCHN_2LEVEL", "5.17"},
		{kvm.XenEvtchnSend, "EVTCHN_SEND", "5.19"}, {kvm.XenSharedInfoHVA, "SHARED_INFO_HVA", "6.9"},
	} {
		if have&f.flag == 0 {
			return lacksXen("XEN_HVM ("+f.name+")", f.since, "or leave out --evtchn kernel")
		}
	}
	return nil
}

// concerns tells whether a hypercall may change what KVM has been told. cmd is
// its first argument. A soft reset, which does, is seen to by itself.
func concerns(nr uint64, cmd uint32) bool {
	switch nr {
	case abi.HypercallMemoryOp, abi.HypercallMulticall, abi.HypercallHVMOp:
		return true
	case abi.HypercallVCPUOp:
		return cmd == abi.VCPUOpRegisterVCPUInfo
	case abi.HypercallEventChannelOp:
		return cmd != abi.EvtchnopSend && cmd != abi.EvtchnopUnmask && cmd != abi.EvtchnopStatus
	}
	return false
}

// follow tells KVM what has changed. self is the vCPU whose thread calls, -1 if
// none does. First the vCPUs, each on its thread, since only then an event may
// be sent there.
func (k *kernelEvents) follow(self int) error {
	for _, v := range k.placed() {
		var err error
		if v == self || self < 0 {
			err = k.apply(v)
		} else {
			err = k.m.group.Do(v, func(vcpu.KVM) error { return k.apply(v) })
		}
		if err != nil && !errors.Is(err, vcpu.ErrStopped) {
			return err
		}
	}
	moved, err := k.connect()
	for _, v := range moved {
		k.m.domain.Events().LookAgain(v)
	}
	return err
}

// followOrEnd does it for a vCPU that has made a hypercall. That KVM refuses what
// it offers is a failure of the host's.
func (k *kernelEvents) followOrEnd(v int) {
	if k == nil {
		return
	}
	if err := k.follow(v); err != nil && !errors.Is(err, kvm.ErrClosed) {
		k.m.end(HostFailure, "event channels cannot be handed to the kernel: "+err.Error())
	}
}

// withdraw takes all ports back, before they are all closed at once.
func (k *kernelEvents) withdraw() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.sends)
	err := k.m.vm.XenResetPorts()
	for i, e := range k.m.events {
		k.routes[i] = kvm.Route{}
		err = errors.Join(err, e.disengage(k.m, i))
	}
	return err
}
