// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"fmt"

	"xenvmm/xenshim/abi"
)

// Reset makes all Xen state as it was when the domain started, for a soft
// reset: the guest is about to start another kernel and keeps its RAM. The
// caller has stopped every vCPU outside the guest and lets the one that asked
// go on; the others are down. The hypercall page is guest memory and stays.
func (d *Domain) Reset() error {
	p := d.cfg.Platform
	d.watchdogs.reset()
	d.timers.Reset()
	d.store.setRing(nil)
	d.store.link.disconnect()
	d.console.link.disconnect()

	d.events.SoftReset()
	p.SetCallback(Callback{})
	for _, v := range d.vcpus {
		d.events.PollEnd(v.id)
		v.leaving.Store(false)
		p.SetUpcallVector(v.id, 0)
		v.run.reset(d.now(v.id), v.resetState())
	}
	d.updateSystemTimes()
	d.runstateFlag.Store(false)
	d.shutdownCode.Store(noShutdownCode)
	d.params.reset()

	if err := d.resetPages(); err != nil {
		return fmt.Errorf("soft reset: %w", err)
	}
	d.store.store.ReleaseDomain()
	if err := d.connectBackends(); err != nil {
		return fmt.Errorf("soft reset: %w", err)
	}
	return nil
}

// resetState is the runstate of a vCPU after a reset: as the platform has it.
func (v *VCPU) resetState() uint32 {
	if v.d.cfg.Platform.VCPUIsUp(v.id) {
		return abi.RunstateRunning
	}
	return abi.RunstateOffline
}

// resetPages takes all pages of ours out of the map, gives the guest all its
// RAM back, and makes shared_info, grant table and store ring as new.
func (d *Domain) resetPages() error {
	d.phys.mu.Lock()
	for gfn := range d.phys.overlays {
		if e := d.phys.displace(gfn); e != abi.OK {
			d.phys.mu.Unlock()
			return fmt.Errorf("unmapping frame %#x: %w", gfn, e)
		}
	}
	d.phys.mu.Unlock()
	d.phys.reset()

	d.shared.mu.Lock()
	d.shared.latched = false
	d.shared.mu.Unlock()
	var zero [abi.PageSize]byte
	for _, pages := range []*cachedPages{d.sharedInfo, d.store.pages} {
		if err := pages.WriteAt(zero[:], 0, 0); err != nil {
			return err
		}
	}
	return d.grants.Reset()
}
