// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"fmt"
	"time"

	"xenvmm/vmm"
)

// Report is the result of a storm.
type Report struct {
	Guard   string        `json:"guard"`
	CPUs    int           `json:"cpus"`
	Sources int           `json:"sources"`
	Elapsed time.Duration `json:"elapsed_ns"`

	Sent      uint64 `json:"sent"`      // writes to eventfds
	Delivered uint64 `json:"delivered"` // pending bit 0 -> 1
	Coalesced uint64 `json:"coalesced"` // merged in the eventfd or the pending bit
	Taken     uint64 `json:"taken"`     // by the guest, pending bit 1 -> 0
	Lost      uint64 `json:"lost"`      // summed over the ports; must be 0
	SlowPath  uint64 `json:"slow_path"` // deliveries that found a cache invalid
	Latched   uint64 `json:"latched"`   // of these, kept until the memory was back
	Upcalls   uint64 `json:"upcalls"`   // upcall handler runs in the guest

	Changes       uint64  `json:"memslot_changes"`
	Remaps        uint64  `json:"remaps"` // new host mappings without a slot change
	GuestMoves    int     `json:"guest_moves"`
	Invalidations uint64  `json:"invalidations"`
	Hits          uint64  `json:"invalidations_hit"` // of these, that met a cache
	FastShare     float64 `json:"fast_path_share"`   // of the hits, without waiting for a reader

	Delivery vmm.Latency `json:"delivery_latency"` // eventfd write to bits set
	Drain    vmm.Latency `json:"drain_latency"`    // cache marked invalid to no reader left

	Guest vmm.Status `json:"guest"`
}

// OK tells whether nothing was lost and the guest is content.
func (r *Report) OK() bool { return r.Problem() == "" }

// Problem is what went wrong, in one line; empty if nothing did.
func (r *Report) Problem() string {
	switch g := &r.Guest; {
	case g.Ending != vmm.Poweroff:
		return g.String()
	case g.Verdict == nil:
		return "the guest ended without a verdict"
	case g.Verdict.Result != vmm.Pass:
		return fmt.Sprintf("guest test %s: %s %s", g.Verdict.Name, g.Verdict.Result, g.Verdict.Reason)
	case r.Lost != 0:
		return fmt.Sprintf("%d events were lost: %d delivered, %d taken by the guest", r.Lost, r.Delivered, r.Taken)
	case r.Sent < r.Delivered+r.Coalesced, r.Sent > r.Delivered+r.Coalesced+r.Latched:
		return fmt.Sprintf("%d events sent, but %d delivered, %d coalesced and %d latched", r.Sent, r.Delivered, r.Coalesced, r.Latched)
	}
	return ""
}
