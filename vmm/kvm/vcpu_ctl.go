// SPDX-License-Identifier: Apache-2.0

package kvm

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// EnableCap switches a vCPU capability on with up to four arguments.
func (c *VCPU) EnableCap(k Cap, args ...uint64) error { return enableCapOn(&c.h, k, args) }

// SetCPUID sets what CPUID shows on this vCPU; before its first Run.
func (c *VCPU) SetCPUID(entries []CPUIDEntry) error {
	_, err := callBytes(&c.h, "KVM_SET_CPUID2", reqSetCPUID2, encodeCPUID(entries))
	return err
}

// CPUID reads back what SetCPUID set, with KVM's own changes.
func (c *VCPU) CPUID() ([]CPUIDEntry, error) {
	b := newCPUIDBuffer(256)
	if _, err := callBytes(&c.h, "KVM_GET_CPUID2", reqGetCPUID2, b); err != nil {
		return nil, err
	}
	return decodeCPUID(b), nil
}

// MSRs reads the MSRs named by entries[i].Index into entries[i].Data. KVM stops
// at the first it refuses; the error names that one.
func (c *VCPU) MSRs(entries []MSREntry) error {
	b, err := c.msrs("KVM_GET_MSRS", reqGetMSRs, entries)
	if err != nil {
		return err
	}
	for i := range entries {
		entries[i].Data = le.Uint64(b[sizeMSRsHeader+i*sizeMSREntry+8:])
	}
	return nil
}

// SetMSRs writes MSRs in order. KVM stops at the first it refuses; the error
// names that one, and those before it are written.
func (c *VCPU) SetMSRs(entries []MSREntry) error {
	_, err := c.msrs("KVM_SET_MSRS", reqSetMSRs, entries)
	return err
}

func (c *VCPU) msrs(op string, req uintptr, entries []MSREntry) ([]byte, error) {
	b := encodeMSRs(entries)
	n, err := callBytes(&c.h, op, req, b)
	if err != nil {
		return nil, err
	}
	if n < len(entries) {
		return nil, fmt.Errorf("%s: %s: KVM refused MSR %#x (%d of %d done): %w", c.h.what, op, entries[max(n, 0)].Index, n, len(entries), unix.EINVAL)
	}
	return b, nil
}

// TSCKHz is the guest's TSC frequency in kHz.
func (c *VCPU) TSCKHz() (uint32, error) {
	n, err := c.h.call("KVM_GET_TSC_KHZ", reqGetTSCKHz, 0)
	return uint32(n), err
}

// SetTSCKHz sets it; other than the host's needs CapTSCControl.
func (c *VCPU) SetTSCKHz(khz uint32) error {
	_, err := c.h.call("KVM_SET_TSC_KHZ", reqSetTSCKHz, uintptr(khz))
	return err
}

// Interrupt queues an external interrupt vector, as the PIC would (ExtINT).
// With the local APIC in the kernel it waits while LVT0 does not accept ExtINT.
func (c *VCPU) Interrupt(vector uint8) error {
	v := uint32(vector)
	_, err := callStruct(&c.h, "KVM_INTERRUPT", reqInterrupt, &v)
	return err
}

// NMI queues a non-maskable interrupt.
func (c *VCPU) NMI() error {
	_, err := c.h.call("KVM_NMI", reqNMI, 0)
	return err
}

// ClockPaused tells the guest, through its pvclock, that the host stopped it on
// purpose, so that its watchdogs do not fire (KVM_KVMCLOCK_CTRL).
func (c *VCPU) ClockPaused() error {
	_, err := c.h.call("KVM_KVMCLOCK_CTRL", reqClockCtrl, 0)
	return err
}

// SetSignalMask sets the signals blocked while in KVM_RUN: bit n-1 of mask
// blocks signal n. A signal not blocked there ends Run with unix.EINTR.
func (c *VCPU) SetSignalMask(mask uint64) error {
	m := signalMask{length: 8}
	le.PutUint64(m.set[:], mask)
	_, err := callStruct(&c.h, "KVM_SET_SIGNAL_MASK", reqSetSignalMask, &m)
	return err
}
