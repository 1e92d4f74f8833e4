// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// VM is one virtual machine.
type VM struct {
	h        handle
	onLeak   func(string)
	mmapSize int
}

// Close gives the descriptor back. The kernel's VM dies when its vCPUs, irqfds
// and device descriptors are closed as well.
func (v *VM) Close() error { return v.h.close() }

// CheckExtension is the value KVM reports for c on this VM; 0 means absent.
func (v *VM) CheckExtension(c Cap) (int, error) {
	return v.h.call("KVM_CHECK_EXTENSION "+c.String(), reqCheckExtension, uintptr(c))
}

// EnableCap switches a VM capability on with up to four arguments.
func (v *VM) EnableCap(c Cap, args ...uint64) error { return enableCapOn(&v.h, c, args) }

func enableCapOn(h *handle, c Cap, args []uint64) error {
	ec := enableCap{cap: uint32(c)}
	if len(args) > len(ec.args) {
		return h.failed(fmt.Sprintf("KVM_ENABLE_CAP %v with %d arguments, at most %d", c, len(args), len(ec.args)), unix.EINVAL)
	}
	copy(ec.args[:], args)
	_, err := callStruct(h, "KVM_ENABLE_CAP "+c.String(), reqEnableCap, &ec)
	return err
}

// Memory region flags.
const (
	MemLogDirtyPages = 1 << 0
	MemReadonly      = 1 << 1
)

// SetUserMemoryRegion creates, moves, changes or (size 0) deletes a memory
// slot. gpa, size and hva are in bytes and page aligned. Flags and gpa of an
// existing slot may change, its size and hva may not. The call returns after
// every vCPU has stopped using the old slot (it waits for KVM's SRCU grace
// period), which is what makes unmapping afterwards safe.
func (v *VM) SetUserMemoryRegion(slot, flags uint32, gpa, size uint64, hva uintptr) error {
	r := userMemoryRegion{slot: slot, flags: flags, gpa: gpa, size: size, hvaAt: uint64(hva)}
	if _, err := callStruct(&v.h, "KVM_SET_USER_MEMORY_REGION", reqSetUserMemRegion, &r); err != nil {
		return fmt.Errorf("slot %d [%#x, +%#x) at %#x flags %#x: %w", slot, gpa, size, hva, flags, err)
	}
	return nil
}

// SetTSSAddr reserves three pages of guest-physical space that Intel hosts
// without unrestricted guest need. It must lie below 4 GiB, outside any slot.
func (v *VM) SetTSSAddr(gpa uint32) error {
	_, err := v.h.call("KVM_SET_TSS_ADDR", reqSetTSSAddr, uintptr(gpa))
	return err
}

// SetIdentityMapAddr reserves one page for the same purpose. It must precede
// the first CreateVCPU.
func (v *VM) SetIdentityMapAddr(gpa uint64) error {
	_, err := callStruct(&v.h, "KVM_SET_IDENTITY_MAP_ADDR", reqSetIdentityMap, &gpa)
	return err
}

// SetBootCPUID chooses the vCPU that starts as the bootstrap processor; before
// the first CreateVCPU.
func (v *VM) SetBootCPUID(id int) error {
	_, err := v.h.call("KVM_SET_BOOT_CPU_ID", reqSetBootCPUID, uintptr(id))
	return err
}

// DirtyLog fetches and clears a slot's dirty page bitmap: bit i of the bitmap
// is page i of the slot. bitmap needs a bit for every page; the slot needs
// MemLogDirtyPages.
func (v *VM) DirtyLog(slot uint32, bitmap []uint64) error {
	if len(bitmap) == 0 {
		return v.h.failed("KVM_GET_DIRTY_LOG: empty bitmap", unix.EINVAL)
	}
	var pin runtime.Pinner
	pin.Pin(&bitmap[0])
	defer pin.Unpin()
	d := dirtyLog{slot: slot, bitmap: addressOf(&bitmap[0])}
	if _, err := callStruct(&v.h, "KVM_GET_DIRTY_LOG", reqGetDirtyLog, &d); err != nil {
		return fmt.Errorf("slot %d: %w", slot, err)
	}
	return nil
}

// Quirks of KVM that DisableQuirks switches off (KVM_X86_QUIRK_*).
const (
	QuirkLINT0Reenabled    = 1 << 0
	QuirkCDNWCleared       = 1 << 1
	QuirkLAPICMMIOHole     = 1 << 2
	QuirkOut7EIncRIP       = 1 << 3
	QuirkMiscEnableNoMwait = 1 << 4
	// QuirkFixHypercallInsn makes KVM rewrite a vmcall or vmmcall of the other
	// vendor in guest memory. With it on, such an instruction hangs a vCPU
	// inside KVM_RUN on hosts without hardware virtualisation (KVM-PVM);
	// with it off the guest gets #UD.
	QuirkFixHypercallInsn = 1 << 5
)

// DisableQuirks switches off the quirks in mask. The kernel refuses bits it
// does not know: ask CheckExtension(CapDisableQuirks2) for the valid ones.
func (v *VM) DisableQuirks(mask uint64) error { return v.EnableCap(CapDisableQuirks2, mask) }

// GetClock reads the VM's kvmclock. Flags tell which of Realtime and HostTSC,
// read at the same instant, are valid.
func (v *VM) GetClock() (ClockData, error) {
	var c ClockData
	_, err := callStruct(&v.h, "KVM_GET_CLOCK", reqGetClock, &c)
	return c, err
}

// SetClock sets kvmclock to c.Clock ns; with ClockRealtime in Flags KVM adds
// the wall time that passed since c.Realtime.
func (v *VM) SetClock(c ClockData) error {
	_, err := callStruct(&v.h, "KVM_SET_CLOCK", reqSetClock, &c)
	return err
}
