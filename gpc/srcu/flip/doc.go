// SPDX-License-Identifier: Apache-2.0

// Package flip is sleepable-RCU with two sets of counters and an index that
// says which of them new readers use: the classic algorithm, kept so that what
// package srcu does without can be measured. Use srcu.
//
// A reader adds one to its own lock count of the current index on entry and one
// to its unlock count of the same index on exit. A grace period waits until
// nobody is left on the idle index, flips, and waits until nobody is left on the
// other one. Both waits are needed: a reader may have loaded the index before
// the previous flip and counted itself after it.
//
// Nobody is left on an index if the sum of unlock counts, taken first, equals
// the sum of lock counts: a section that ends in between can only make the first
// sum too small. Grace periods exclude one another, so updaters queue. All
// waiting spins, for readers and for the updaters ahead, as it does in the kernel's
// atomic grace period, which is called where nothing may sleep.
package flip
