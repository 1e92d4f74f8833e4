// SPDX-License-Identifier: Apache-2.0

package kvm_test

import (
	"testing"

	"xenvmm/vmm/kvm"
	"xenvmm/vmm/kvm/kvmtest"
)

// TestKVMInterruptShadow has an interrupt pending when the vCPU is in the shadow
// of STI: one instruction more is executed before it is taken. Guests that do STI
// and HLT rely on it, and so does vcpu.CanInject.
func TestKVMInterruptShadow(t *testing.T) {
	const first = 0x77
	load := []byte{0xb0, first, 0xf4} // mov $first,%al; hlt: the handler sends AL out
	pending := func(g *guest) byte {
		t.Helper()
		g.enableLAPIC(true)
		_, err := g.vm.SignalMSI(0xfee00000, 0x41)
		g.must(err)
		return g.expectOut(isrPort)[0]
	}
	t.Run("that begins in the guest", func(t *testing.T) {
		g := newGuest(t, append([]byte{0xfb}, load...), split(t))
		if al := pending(g); al != first {
			t.Errorf("AL %#x in the handler: the interrupt came before the instruction after STI", al)
		}
	})
	t.Run("that lasts over an exit", func(t *testing.T) {
		g := newGuest(t, load, split(t))
		var r kvm.Regs
		g.must(g.cpu.Regs(&r))
		r.RFLAGS |= 1 << 9
		g.must(g.cpu.SetRegs(&r))
		var e kvm.VCPUEvents
		g.must(g.cpu.Events(&e))
		e.I.Shadow, e.Flags = kvm.ShadowSTI, kvm.EventValidShadow
		g.must(g.cpu.SetEvents(&e))
		switch al := pending(g); {
		case al == first:
		case kvmtest.Emulated(t):
			t.Skip("QEMU's emulation drops the shadow at VMRUN: in this host an interrupt may come between STI and HLT")
		default:
			t.Errorf("AL %#x in the handler: the interrupt came in the shadow", al)
		}
	})
}
