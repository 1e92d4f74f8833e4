// SPDX-License-Identifier: Apache-2.0

// Package storm is the main job of this monitor as one call: a guest takes
// event channel events from many eventfds at once while its memslots change
// under it, and at the end both sides compare their counts.
//
// # What is counted
//
// For each port the host counts the times a delivery turned the pending bit in
// the guest's shared_info from 0 to 1, and the guest counts the times it turned
// it back. When nothing is in flight the two are equal, or an event was lost.
// A write that finds an earlier one not yet taken from the eventfd, or a
// delivery that finds the bit still set, is not a loss: it is coalesced with
// the event before, as with any interrupt.
//
//	written = coalesced in the eventfd + coalesced in the bit + delivered
//	lost    = delivered - taken by the guest
//
// # What changes meanwhile
//
// The churner goes through these in turn, without a pause between them:
//
//   - a scratch slot outside RAM is added, moved, resized, reflagged and deleted;
//   - the pages that hold shared_info and vcpu_info get new host mappings;
//   - a page in a slot of its own is taken away, mapped at another host address
//     and put back, with the vCPUs held outside the guest for that moment.
//
// The guest moves its shared_info between RAM and slots of its own at the same
// time.
package storm
