// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"errors"

	"xenvmm/vmm/eventfd"
	"xenvmm/vmm/kvm"
)

// engage makes the eventfd an irqfd. What was written before and not taken yet,
// KVM finds in the eventfd.
func (h *HostEvent) engage(m *Machine, event int) error {
	if h.source == nil {
		return nil
	}
	h.source.Close()
	h.source = nil
	return m.vm.IRQFD(h.FD(), eventGSI(event), kvm.IRQFDOpts{})
}

// disengage takes the eventfd back. No event is under way in KVM when it returns,
// and what is written from then on is this program's to take.
func (h *HostEvent) disengage(m *Machine, event int) error {
	if h.source != nil {
		return nil
	}
	return errors.Join(m.vm.IRQFD(h.FD(), eventGSI(event), kvm.IRQFDOpts{Deassign: true}), h.watch())
}

// openOutbound makes an eventfd for what the guest sends on the channel; sent is
// called after it was written.
func (h *HostEvent) openOutbound(watch func(fd int, fired func()) (stop func(), err error), sent func()) (err error) {
	if h.outbound, err = eventfd.New(); err != nil {
		return err
	}
	if h.stopOutbound, err = watch(h.outbound.FD(), sent); err != nil {
		h.stopOutbound = func() {}
	}
	return err
}
