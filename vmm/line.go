// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"errors"
	"os"

	"xenvmm/vmm/eventfd"
	"xenvmm/vmm/kvm"
)

// resampledLine is a level-triggered interrupt line that goes low by itself
// when the guest ends the interrupt (KVM_IRQFD with KVM_IRQFD_FLAG_RESAMPLE):
// KVM raises it when trigger is written, and takes it low and writes resample
// at the EOI.
type resampledLine struct {
	vm                *kvm.VM
	gsi               uint32
	trigger, resample *eventfd.Event
	stop              func() // ends watching resample
}

func newResampledLine(vm *kvm.VM, gsi uint32) (*resampledLine, error) {
	t, err := eventfd.New()
	if err != nil {
		return nil, err
	}
	r, err := eventfd.New()
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	if err := vm.IRQFD(t.FD(), gsi, kvm.IRQFDOpts{Resample: r.FD()}); err != nil {
		return nil, errors.Join(err, t.Close(), r.Close())
	}
	return &resampledLine{vm: vm, gsi: gsi, trigger: t, resample: r}, nil
}

// Assert implements irq.Line.
func (l *resampledLine) Assert() error { return l.trigger.Signal() }

// Close implements irq.Line. The line goes low.
func (l *resampledLine) Close() error {
	if l.stop != nil {
		l.stop()
	}
	err := l.vm.IRQFD(l.trigger.FD(), l.gsi, kvm.IRQFDOpts{Resample: l.resample.FD(), Deassign: true})
	if errors.Is(err, kvm.ErrClosed) || errors.Is(err, os.ErrClosed) {
		err = nil // the line went with the VM
	}
	return errors.Join(err, l.trigger.Close(), l.resample.Close())
}
