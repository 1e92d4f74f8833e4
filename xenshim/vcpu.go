// SPDX-License-Identifier: Apache-2.0

package xenshim

import (
	"sync/atomic"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// VCPU is one virtual processor. Its methods are for the thread that runs it.
type VCPU struct {
	d      *Domain
	id     int
	reader *gpc.Reader
	// timerReader is for VIRQ_TIMER, which other threads raise.
	timerReader *gpc.Reader
	run         runstate
	// leaving is set from the time the vCPU is asked to go down until it is
	// down or up again.
	leaving atomic.Bool
	call    call
}

func newVCPU(d *Domain, id int) *VCPU {
	v := &VCPU{
		d: d, id: id,
		reader: d.cfg.Caches.NewReader(), timerReader: d.cfg.Caches.NewReader(),
	}
	v.call.VCPU = v
	newRunstate(v, initialState(id))
	return v
}

// initialState is the runstate a vCPU starts in: only vCPU 0 runs.
func initialState(id int) uint32 {
	if id == 0 {
		return abi.RunstateRunning
	}
	return abi.RunstateOffline
}

// Started tells that the calling thread is the vCPU's, and the vCPU's alone, until
// Ended. The caller is locked to it. What is done for the vCPU before and after,
// and without either, costs invalidations more.
func (v *VCPU) Started() {
	v.reader.Close()
	v.reader = v.d.cfg.Caches.NewThreadReader()
}

// Ended is called on the thread that called Started.
func (v *VCPU) Ended() {
	v.reader.Close()
	v.reader = v.d.cfg.Caches.NewReader()
}

// ID is the vCPU's number.
func (v *VCPU) ID() int { return v.id }

// Reader is the vCPU's right to enter read sections, for code on its thread.
func (v *VCPU) Reader() *gpc.Reader { return v.reader }
