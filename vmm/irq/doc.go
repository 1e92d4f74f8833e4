// SPDX-License-Identifier: Apache-2.0

// Package irq makes a vCPU notice that its evtchn_upcall_pending was set.
//
// Xen has three ways to interrupt an HVM guest for its event channels, and the
// guest chooses (public/hvm/params.h, HVMOP_set_evtchn_upcall_vector):
//
//   - a vector per vCPU, an ordinary edge interrupt that the guest's LAPIC
//     queues and the guest ends with an EOI: sent with KVM_SIGNAL_MSI;
//   - one vector for the domain ("vector callback"), presented whenever an
//     upcall is pending and the vCPU takes interrupts, which never shows in the
//     LAPIC and is not ended by an EOI: injected by the vCPU's own thread with
//     KVM_SET_VCPU_EVENTS, since a plain MSI would leave its in-service bit set
//     for ever;
//   - a level-triggered line (GSI, or a PCI INTx pin) for vCPU 0, which stays
//     asserted while its upcall is pending: an irqfd whose resample event tells
//     when the guest has sent the EOI and the state must be looked at again.
//
// The first that is set up wins, in this order.
//
// # An upcall is never lost
//
// Xen raises an upcall only when evtchn_upcall_pending goes from 0 to 1, so an
// injection that is dropped would leave the guest waiting for ever. An
// interrupt that could not be presented is therefore owed: a LAPIC that is
// disabled by software drops messages (KVM reports this, nothing reports when
// it is enabled again), and a vCPU with interrupts disabled cannot take a
// vector callback. What is owed is tried again by Retry, which the owner of the
// Controller calls from a timer while Owing is true, and by Enter before each
// entry to the guest.
//
// Lock order: the Controller's mutex guards only the setting of callbacks; no
// method holds it while it calls out, and Upcall takes no lock.
package irq
