// SPDX-License-Identifier: Apache-2.0

package xenshim

// Work budget of one hypercall. Xen lets a long call be interrupted and
// restarts it; a trapped call here runs to its end, so its work is bounded
// instead. A unit is about one page copied, discarded or mapped, or one
// element of an array handled: a full budget takes a few milliseconds.
//
// Operations that report how much they did (reservation changes) stop early
// when the budget is used up. Batches that must answer for every entry refuse
// with -E2BIG a count they couldn't finish. The entries of a multicall share
// one budget.
const (
	workBudget = 8192
	// multicallMax bounds the entries of one multicall; guests use 32.
	multicallMax = 1024
	// consoleWriteMax bounds one console_io write in bytes.
	consoleWriteMax = 64 << 10
	// discardCost is the least that giving an extent of RAM back costs.
	discardCost = 8
	// consoleCost is what a page of console output costs.
	consoleCost = 8
	// mapCost is what a change of the physical map costs: it stops readers of
	// the frames and may change memory slots.
	mapCost = 32
)

// spend takes n units and reports whether they were there.
func (c *call) spend(n int) bool {
	if n > c.budget {
		return false
	}
	c.budget -= n
	return true
}
