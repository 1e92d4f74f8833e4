// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"errors"
	"fmt"

	"xenvmm/vmm/irq"
	"xenvmm/vmm/kvm"
)

// Where KVM keeps its own pages for guests without an unrestricted real mode:
// below the top of the 32-bit space, in the range that boot reserves. Three
// pages for the TSS, one for the identity map.
const (
	kvmIdentityMap = 0xfeffc000
	kvmTSS         = 0xfeffd000
)

// newVM makes a virtual machine with interrupt controllers in the kernel and
// hypercalls leading to user space.
func newVM(sys *kvm.System, irqchip, trap string) (vm *kvm.VM, err error) {
	vm, err = sys.CreateVM()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, vm.Close())
			vm = nil
		}
	}()
	if err = vm.SetIdentityMapAddr(kvmIdentityMap); err != nil {
		return
	}
	if err = vm.SetTSSAddr(kvmTSS); err != nil {
		return
	}
	if err = createIRQChip(vm, irqchip); err != nil {
		return
	}
	err = trapHypercalls(vm, trap)
	return
}

// lines connects level-triggered lines by irqfd with resampling.
type lines struct {
	vm      *kvm.VM
	connect func(fd int, fired func()) (stop func(), err error)
}

// Connect implements irq.Lines.
func (l lines) Connect(gsi uint32, ended func()) (irq.Line, error) {
	line, err := newResampledLine(l.vm, gsi)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", gsi, err)
	}
	line.stop, err = l.connect(line.resample.FD(), ended)
	if err != nil {
		return nil, errors.Join(err, line.Close())
	}
	return line, nil
}
