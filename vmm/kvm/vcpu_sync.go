// SPDX-License-Identifier: Apache-2.0

package kvm

// SyncFields are the register classes that KVM copies to and from the kvm_run
// page (KVM_SYNC_X86_*, Linux 4.17; CheckExtension(CapSyncRegs) lists them).
type SyncFields uint64

const (
	SyncRegs   SyncFields = 1 << 0
	SyncSregs  SyncFields = 1 << 1
	SyncEvents SyncFields = 1 << 2
)

// SetSyncValid chooses the classes that every following Run leaves in RunRegs,
// RunSregs and RunEvents. A class the kernel does not know makes Run fail with
// EINVAL.
func (c *VCPU) SetSyncValid(f SyncFields) { le.PutUint64(c.page[offValidRegs:], uint64(f)) }

// MarkDirty makes the next Run load the classes in f from the page before it
// enters the guest. KVM clears the marks. Marks add up until then.
func (c *VCPU) MarkDirty(f SyncFields) {
	le.PutUint64(c.page[offDirtyRegs:], le.Uint64(c.page[offDirtyRegs:])|uint64(f))
}

// MarkRegsDirty is MarkDirty(SyncRegs).
func (c *VCPU) MarkRegsDirty() { c.MarkDirty(SyncRegs) }

// MarkSregsDirty is MarkDirty(SyncSregs).
func (c *VCPU) MarkSregsDirty() { c.MarkDirty(SyncSregs) }

// RunRegs is the page's copy of the general registers, valid after a Run with
// SyncRegs. After an exit in the middle of an instruction (IO, MMIO) leave RIP
// as it is: KVM finishes the instruction at the next Run, and whether RIP is
// already behind it differs between hosts.
func (c *VCPU) RunRegs() *Regs { return syncRegs(c.page) }

// RunSregs is the page's copy of the system registers, valid with SyncSregs.
func (c *VCPU) RunSregs() *Sregs { return syncSregs(c.page) }

// RunEvents is the page's copy of the pending events, valid with SyncEvents.
func (c *VCPU) RunEvents() *VCPUEvents { return syncEvents(c.page) }
