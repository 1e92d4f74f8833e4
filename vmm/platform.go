// SPDX-License-Identifier: Apache-2.0

package vmm

import (
	"fmt"

	"xenvmm/vmm/irq"
	"xenvmm/vmm/vcpu"
	"xenvmm/xenshim"
	"xenvmm/xenshim/abi"
)

// lowestVector is the first interrupt vector that a local APIC delivers.
const lowestVector = 0x10

// platform is the machine as the Xen domain sees it.
type platform struct{ m *Machine }

// Upcall implements xenshim.Platform. A vCPU that waits in SCHEDOP_block with
// interrupts disabled is not woken by the interrupt, so it is woken as well.
func (p platform) Upcall(v int) {
	if p.m.kernel.presents(v) {
		p.m.group.Kick(v)
	} else {
		p.m.irq.Upcall(v)
		p.m.owed.check()
	}
	p.m.group.Wake(v)
}

func (p platform) WakePoller(v int) { p.m.group.Wake(v) }

func (p platform) SetUpcallVector(v int, vector uint8) {
	p.m.vectors[v].Store(uint32(vector))
	p.m.irq.SetVector(v, vector)
}

func (p platform) SetCallback(cb xenshim.Callback) {
	types := map[xenshim.CallbackType]irq.CallbackType{
		xenshim.CallbackGSI: irq.CallbackGSI, xenshim.CallbackINTx: irq.CallbackINTx, xenshim.CallbackVector: irq.CallbackVector,
	}
	callback := irq.Callback{
		Type: types[cb.Type], GSI: uint32(cb.GSI), Device: cb.Device, Pin: cb.Pin, Vector: cb.Vector,
	}
	vector := uint32(0)
	if callback.Type == irq.CallbackVector && callback.Vector >= lowestVector {
		vector = uint32(callback.Vector)
	}
	p.m.callbackVector.Store(vector)
	if err := p.m.irq.SetCallback(callback); err != nil {
		p.m.cfg.Log.Debug("the guest's event callback cannot be connected", "callback", cb, "err", err)
	}
}

// SetSystemTime only notes the change: it is taken over by that vCPU before it
// runs again, and by the end of the hypercall that asked for it.
func (p platform) SetSystemTime(v int, gpa uint64, enable bool) error {
	if v < 0 || v >= len(p.m.times.cpus) {
		return fmt.Errorf("vcpu %d does not exist", v)
	}
	p.m.times.set(v, gpa, enable)
	return nil
}

func (p platform) GuestTime(v int) uint64      { return p.m.clocks.Now(v) }
func (p platform) WallClock() (uint64, uint32) { return p.m.clock.Wall() }
func (p platform) TSCKHz() uint32              { return p.m.tscKHz }

func (p platform) ArmTimer(v int, deadline uint64) { p.m.timers.Arm(v, deadline) }
func (p platform) DisarmTimer(v int)               { p.m.timers.Disarm(v) }

func (p platform) VCPUInitialise(v int, c *xenshim.VCPUContext) abi.Errno {
	return p.m.online.initialise(v, c)
}
func (p platform) VCPUUp(v int) abi.Errno   { return p.m.online.start(v) }
func (p platform) VCPUDown(v int) abi.Errno { return p.m.online.stop(v) }
func (p platform) VCPUIsUp(v int) bool      { up, _ := p.m.online.up(v); return up }

func (p platform) SendNMI(v int) abi.Errno {
	if err := p.m.group.Do(v, vcpu.KVM.NMI); err != nil {
		return abi.EINVAL
	}
	return abi.OK
}

// Shutdown ends the machine, or notes a soft reset for the end of the
// hypercall.
func (p platform) Shutdown(reason uint32) {
	switch reason {
	case abi.ShutdownPoweroff:
		p.m.end(Poweroff, "")
	case abi.ShutdownReboot:
		p.m.end(Reboot, "")
	case abi.ShutdownWatchdog:
		p.m.end(Watchdog, "a guest watchdog ran out")
	case abi.ShutdownSoftReset:
		p.m.softReset.Store(true)
	case abi.ShutdownCrash:
		p.m.end(Crash, "the guest reports that it has crashed")
	default:
		p.m.end(Crash, fmt.Sprintf("the guest gave the unknown shutdown reason %d", reason))
	}
}
