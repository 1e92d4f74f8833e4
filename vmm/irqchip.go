// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"fmt"

	"xenvmm/vmm/irq"
	"xenvmm/vmm/kvm"
)

// Which interrupt controllers the machine has, for Config.IRQChip.
const (
	IRQChipFull = "full" // PIC, IOAPIC and local APICs, all in the kernel
	// IRQChipSplit has the local APICs alone, in the kernel: what some hosts
	// insist on. There is no IOAPIC in this program, so no device has a line, and
	// guests are not shown one. Events reach them by vectors, messages too.
	IRQChipSplit = "split"
)

// IRQChips returns the names for Config.IRQChip, the default first.
func IRQChips() []string { return []string{IRQChipFull, IRQChipSplit} }

func createIRQChip(vm *kvm.VM, chip string) error {
	if chip == IRQChipSplit {
		return vm.SplitIRQChip(0) // no line of an IOAPIC outside
	}
	return vm.CreateIRQChip()
}

// line returns what sets the level of an interrupt line, which goes nowhere where
// there is no IOAPIC.
func (m *Machine) line(gsi uint32) func(level bool) {
	if m.cfg.IRQChip == IRQChipSplit {
		return func(bool) {}
	}
	return func(level bool) { _ = m.vm.IRQLine(gsi, level) }
}

// noLines stands for the lines of a machine that has none. A guest may ask to be
// interrupted by one, and some do that only to show that they are Xen's guests
// (their vCPUs have vectors). One that is to be is told of, since it would wait
// for ever.
type noLines struct {
	told func(why string)
}

// Connect implements irq.Lines.
func (l noLines) Connect(gsi uint32, _ func()) (irq.Line, error) { return noLine{l, gsi}, nil }

type noLine struct {
	noLines
	gsi uint32
}

// Assert implements irq.Line.
func (l noLine) Assert() error {
	l.told(fmt.Sprintf("the guest wants its events by interrupt line %d, and a machine with --irqchip split has no IOAPIC for that: give --irqchip full", l.gsi))
	return nil
}

// Close implements irq.Line.
func (noLine) Close() error { return nil }
