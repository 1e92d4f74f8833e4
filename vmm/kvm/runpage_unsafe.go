// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"sync/atomic"
	"unsafe"
)

// immediate_exit is one byte that other threads set while the vCPU's own thread
// may be writing its neighbour, request_interrupt_window. Go has atomics on
// 32-bit words only, so both bytes are changed by a locked OR or AND of the
// word they share: it alters no other byte, and no update of the neighbour is
// lost. The kernel only reads these bytes.

const (
	requestWindowBit = uint32(1) << (8 * offRequestWindow)
	immediateExitBit = uint32(1) << (8 * offImmediateExit)
)

// setControl sets or clears one bit in the first word of kvm_run.
func setControl(page []byte, bit uint32, on bool) {
	w := (*uint32)(unsafe.Pointer(unsafe.SliceData(page)))
	if on {
		atomic.OrUint32(w, bit)
	} else {
		atomic.AndUint32(w, ^bit)
	}
}

func syncRegs(page []byte) *Regs   { return (*Regs)(unsafe.Pointer(&page[offSyncRegs])) }
func syncSregs(page []byte) *Sregs { return (*Sregs)(unsafe.Pointer(&page[offSyncSregs])) }
func syncEvents(page []byte) *VCPUEvents {
	return (*VCPUEvents)(unsafe.Pointer(&page[offSyncEvents]))
}
