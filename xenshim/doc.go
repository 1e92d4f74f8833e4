// SPDX-License-Identifier: Apache-2.0

// Package xenshim implements the hypervisor side of the Xen guest ABI for one
// HVM or PVH domain: the hypercall table and its dispatch, CPUID leaves, the
// hypercall page, shared info and wall clock, HVM parameters, runstate
// accounting, and the life of a Domain with its vCPUs.
//
// It knows nothing of KVM. What it needs of the machine it declares as small
// interfaces (Memory, PageAllocator, Platform); a test implements them with
// plain Go values.
//
// # Rules
//
//   - The guest is hostile. An argument structure is copied exactly once, into
//     memory the guest can't reach, and only the copy is looked at. Every loop
//     over a guest's number is bounded by a constant or by the call's work
//     budget (budget.go). Nothing is allocated in proportion to a guest's
//     number.
//   - Errors are Xen's, in Xen's order of checks where a guest can tell.
//   - An argument pointer is a linear address, translated by our own page walk
//     (walk.go) under the rules of a CPL 0 data access in the guest's current
//     mode.
//   - Structures in arguments have the layout of the calling mode (64-bit code
//     segment or not); shared structures that outlive a call have the layout
//     of the domain's latched width.
//
// # Guest memory
//
// What is shared with the guest for longer than a call is reached through gpc
// caches: shared_info and vcpu_info (package evtchn), the wall clock, the grant
// table's frames and the two ring pages (cachedpages.go), and the runstate areas,
// which may cross a page (runstatecopy.go). If there is no memory behind one when
// it is to be used, that is noted in a latch (latch.go; package evtchn has its
// own), and done when memory returns: an event sent, a ring looked at, a use bit
// of a grant taken back, a time written. Arguments of hypercalls, page tables
// and the contents of granted frames are copied by Memory, once and checked.
//
// # Concurrency
//
// A VCPU and its methods belong to the thread that runs that vCPU. Domain
// methods may be called from any thread unless their comment says otherwise.
// Platform methods that may wait for another vCPU are called without any lock.
// The physical map lock (physmap.go) serialises changes of the map; it is held
// while pages move, and never taken on event, timer or scheduling paths. Under
// it come, in this order, the lock of the width and wall clock (sharedinfo.go)
// and those of the packages below.
package xenshim
