// SPDX-License-Identifier: Apache-2.0

// Package gnttab is a guest's grant table, version 1: pages in which the guest
// lists frames that a backend may use (public/grant_table.h), and the backend's
// side of it, which pins an entry while it is in use.
//
// # Rules
//
// An entry is pinned by a compare-and-swap of its flags and domain that sets
// the reading and writing bits, retried a few times while the guest changes
// them (it may turn on the readonly bit at any time). The frame is read once,
// right after the pin, when a correct guest may no longer change it; from then
// on only this copy is used, whatever happens to the entry. A guest may revoke
// an entry in which neither bit is set, and only then.
//
// A frame is used only if the RAM interface accepts it: grants of device
// memory or of nothing are refused.
//
// # Concurrency
//
// All methods may be called from any goroutine. One mutex guards the pins; it
// is a leaf and held for a bounded number of accesses to the table. Copies to
// and from granted memory run outside it.
package gnttab
