// SPDX-License-Identifier: Apache-2.0

package xenshim

import "xenvmm/xenshim/abi"

// Memory is guest physical memory as the domain sees it: RAM and whatever
// pages are laid over it. Methods are safe for concurrent use, check the whole
// range before they touch anything, and fail where there is no memory.
type Memory interface {
	ReadAt(p []byte, gpa uint64) error
	WriteAt(p []byte, gpa uint64) error
	// LoadUint32 and LoadUint64 read one naturally aligned word in a single
	// access.
	LoadUint32(gpa uint64) (uint32, error)
	LoadUint64(gpa uint64) (uint64, error)
	// Discard gives n pages of RAM from gfn back to the host. They read as
	// zero afterwards.
	Discard(gfn, n uint64) error
}

// SharedInfoPages names the page with shared_info to PageAllocator.
const SharedInfoPages = "shared_info"

// PageAllocator makes host pages that are not guest RAM until they are mapped.
type PageAllocator interface {
	NewPages(name string, n int) (Pages, error)
}

// Pages is a fixed number of zeroed host pages, which the domain reads and
// writes whether or not the guest has them mapped. Offsets are in bytes; words
// are aligned and accessed atomically.
type Pages interface {
	ReadAt(p []byte, idx int, off uint32) error
	WriteAt(p []byte, idx int, off uint32) error
	Load32(idx int, off uint32) (uint32, error)
	Store32(idx int, off uint32, v uint32) error
	CompareAndSwap32(idx int, off uint32, old, new uint32) (bool, error)
	// Map shows page idx to the guest at gfn, in RAM or outside. A page mapped
	// elsewhere moves; a page of ours already at gfn is replaced.
	Map(idx int, gfn uint64) error
	Unmap(idx int) error
	GFN(idx int) (gfn uint64, mapped bool)
}

// CallbackType is how the domain-wide event callback reaches the guest.
type CallbackType uint8

// The callback types (public/hvm/params.h, HVM_PARAM_CALLBACK_IRQ).
const (
	CallbackNone   CallbackType = iota
	CallbackGSI                 // level on a GSI, vCPU 0 only
	CallbackINTx                // level on a PCI INTx pin, vCPU 0 only
	CallbackVector              // vector past the LAPIC on every vCPU: no EOI
)

// Callback is the decoded HVM_PARAM_CALLBACK_IRQ. A vCPU with an upcall vector
// of its own takes that vector whatever the callback says: such guests set the
// callback to GSI 1 only to show that they have one.
type Callback struct {
	Type   CallbackType
	GSI    uint8 // CallbackGSI
	Device uint8 // CallbackINTx: PCI device number, 0..31
	Pin    uint8 // CallbackINTx: 0..3
	Vector uint8 // CallbackVector
}

// Platform is the machine around the domain. Methods may be called from any
// vCPU thread and from timer and backend goroutines. Only the VCPU methods and
// SendNMI may wait for another vCPU's thread; no lock of the domain is held
// when they are called. Upcall, WakePoller, ArmTimer and DisarmTimer must not
// allocate.
type Platform interface {
	// Upcall tells that upcall_pending of vcpu went from 0 to 1.
	Upcall(vcpu int)
	// WakePoller ends the wait of a vCPU whose Outcome was Poll.
	WakePoller(vcpu int)
	// SetUpcallVector sets the per-vCPU event vector; 0 removes it.
	SetUpcallVector(vcpu int, vector uint8)
	SetCallback(cb Callback)
	// SetSystemTime tells where the vCPU's pvclock (struct vcpu_time_info)
	// lies, or that it has none.
	SetSystemTime(vcpu int, gpa uint64, enable bool) error
	// GuestTime is the time in ns that a vCPU's pvclock shows now. It is asked
	// for by that vCPU's thread and by others.
	GuestTime(vcpu int) uint64
	// WallClock is the wall time at GuestTime 0.
	WallClock() (sec uint64, nsec uint32)
	TSCKHz() uint32
	// ArmTimer asks for Domain.TimerExpired(vcpu) at deadline (guest ns of
	// that vCPU), replacing an earlier deadline.
	ArmTimer(vcpu int, deadline uint64)
	DisarmTimer(vcpu int)
	// VCPUInitialise sets a down vCPU's registers: EEXIST if it has been
	// initialised already, EINVAL if the processor refuses the state.
	VCPUInitialise(vcpu int, c *VCPUContext) abi.Errno
	// VCPUUp starts an initialised vCPU (no error if it runs): EINVAL if it
	// has no state.
	VCPUUp(vcpu int) abi.Errno
	// VCPUDown stops a vCPU; its state is kept. For the calling vCPU it only
	// notes it: the call's Outcome is Offline.
	VCPUDown(vcpu int) abi.Errno
	VCPUIsUp(vcpu int) bool
	SendNMI(vcpu int) abi.Errno
	// Shutdown ends the domain for the given SHUTDOWN_* reason, or for
	// ShutdownSoftReset asks the machine to stop every vCPU, call
	// Domain.Reset and let the calling vCPU go on.
	Shutdown(reason uint32)
}
