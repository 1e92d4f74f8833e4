// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"time"

	"xenvmm/gpc/srcu"
)

// A guard keeps readers and invalidations apart. The caches, the order of
// operations and the bodies of the sections are the same for all of them.
type guard interface {
	// newReader returns what one thread needs to enter sections: either a slot,
	// and then the section is entered in assembly, or a lock to hold around it.
	newReader() (slot *srcu.Slot, lock sectionLock, release func())
	// drain returns when no section is running that may have loaded a mapping
	// of a hit cache before it was withdrawn. With mayBlock false it gives up,
	// with done false, after spinLimit. Guards that do not count their readers
	// say of the wait only whether there was none.
	drain(hit index, mayBlock bool) (st srcu.Stats, done bool)
}

// spinLimit bounds the drain of a caller that must not block.
const spinLimit = 50 * time.Microsecond

// A sectionLock is held over a section that uses caches a and b. b may be a, or
// nil.
type sectionLock interface {
	enter(a, b *Cache)
	exit(a, b *Cache)
}

type guardType struct {
	name string
	make func(Options) guard
	// unsafe: it does not keep readers and invalidations apart.
	unsafe bool
}

// guards lists the guards there are, the default first. Those after it are there
// to be compared with:
//
//	srcu-notry       counters per reader, without the look whether all are out
//	                 already; the wait spins to its end
//	srcu-expedited   with that look, and a wait that sleeps at once
//	rwlock           one sync.RWMutex per Set
//	rwlock-percache  a sync.RWMutex per cache, two taken for an event
//	spinlock, mutex  one per Set, readers excluding one another
//	srcu-flip        SRCU with an index that is flipped (package flip)
//	none             nothing
var guards = []guardType{
	{name: "srcu", make: newSRCUGuard},
	{name: "srcu-notry", make: newNoTryGuard},
	{name: "srcu-expedited", make: newExpeditedGuard},
	{name: "rwlock", make: newRWLockGuard},
	{name: "rwlock-percache", make: newPerCacheGuard},
	{name: "spinlock", make: newSpinlockGuard},
	{name: "mutex", make: newMutexGuard},
	{name: "srcu-flip", make: newFlipGuard},
	{name: "none", make: newNoGuard, unsafe: true},
}

// Guards returns the names of the guards that hold the contract, the default
// first.
func Guards() []string {
	var names []string
	for _, g := range guards {
		if !g.unsafe {
			names = append(names, g.name)
		}
	}
	return names
}

// BenchGuards returns the names of all guards, those included that hold nothing
// and are there to be measured against: with them an invalidation does not wait,
// and memory may be taken away only if no reader is using it.
func BenchGuards() []string {
	names := make([]string, len(guards))
	for i, g := range guards {
		names[i] = g.name
	}
	return names
}
