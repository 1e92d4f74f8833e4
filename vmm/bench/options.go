// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"xenvmm/gpc"
)

// MaxThreads bounds how many threads a benchmark starts at once.
const MaxThreads = 64

// Forms of Delivery.
const (
	// FormInline calls Deliver directly; every delivery raises the upcall and
	// the same thread plays the guest that takes it.
	FormInline = "inline"
	// FormEarly finds its port pending already, and returns at once.
	FormEarly = "early"
	// FormEventFD is the inline form with a write and a read of an eventfd in
	// front: the whole path but for waking a thread.
	FormEventFD = "eventfd"
	// FormWaiter writes eventfds that the threads of vmm/eventfd wait for: the
	// path that the machine takes, woken threads and all.
	FormWaiter = "waiter"
	// FormBatch takes several events of the shared word at once and sets their
	// bits with one locked operation. It has the shared layout only.
	FormBatch = "batch"
)

// Forms returns the names of the forms of Delivery, in the order of display.
func Forms() []string { return []string{FormInline, FormEarly, FormBatch, FormEventFD, FormWaiter} }

// Layouts of Delivery.
const (
	LayoutSpread = "spread" // each thread has its own vCPU and its own word of pending bits
	LayoutShared = "shared" // all threads' ports are bits of one word, of one vCPU
)

// Layouts returns the names of the layouts of Delivery.
func Layouts() []string { return []string{LayoutSpread, LayoutShared} }

// DeliveryOptions choose what Delivery measures. What is zero takes the default.
type DeliveryOptions struct {
	Guards  []string      // of gpc.BenchGuards; all of them. The base rwlock and the limit none are added
	Threads []int         // 1, 2, 4, 8, 16; more than there are CPUs is measured and marked
	Layouts []string      // of Layouts; both
	Forms   []string      // of Forms; all
	Rounds  int           // 7
	Slices  int           // undisturbed slices wanted per round and row; 5
	Slice   time.Duration // 250 us
}

// ReadOptions choose what Read measures.
type ReadOptions struct {
	Guards  []string // as in DeliveryOptions
	Threads []int    // 1, 2, 4, 8, 16
	Rounds  int      // 9
	Slices  int      // 9
	Slice   time.Duration
}

// Profiles of Invalidate.
const (
	// ProfileFlood is twelve updaters at once, eight on shared_info and four on
	// vcpu_info caches, each invalidating and refreshing its own cache.
	ProfileFlood = "flood"
	// ProfileDrain is one paced updater against readers on threads of their own
	// that are inside a section for about 0.5 % of the time.
	ProfileDrain = "drain"
	// ProfileHot is the same against readers that do nothing else.
	ProfileHot = "hot"
	// ProfileGoroutines is the same against as many goroutines as readers, with
	// GOMAXPROCS set to the number of CPUs.
	ProfileGoroutines = "goroutines"
	// ProfileUpdaters is eight updaters at once against two readers at 0.5 %.
	ProfileUpdaters = "updaters"
	// ProfilePair is one paced updater against two readers at 0.5 %.
	ProfilePair = "pair"
)

// Profiles returns the names of the profiles of Invalidate.
func Profiles() []string {
	return []string{ProfileFlood, ProfileDrain, ProfileHot, ProfileGoroutines, ProfileUpdaters, ProfilePair}
}

// Whether Invalidate's flood has readers.
const (
	ReadersBoth = ""    // once with, once without
	ReadersOn   = "on"  // with
	ReadersOff  = "off" // without
)

// InvalidateOptions choose what Invalidate measures.
type InvalidateOptions struct {
	Guards       []string      // as in DeliveryOptions
	Profiles     []string      // of Profiles; all
	Duration     time.Duration // of measuring one guard in one profile, all repetitions together; 5 s
	Repetitions  int           // 10
	Readers      int           // threads or goroutines of drain, hot and goroutines; 12
	FloodReaders string        // ReadersBoth, ReadersOn or ReadersOff
	Pace         time.Duration // pause of an updater after each transaction; 50 us. Negative: none
	CPUs         int           // how many CPUs the threads may use; all
}

// TargetsOptions choose how thoroughly Targets measures.
type TargetsOptions struct {
	Rounds      int           // of delivery and read; 21
	Duration    time.Duration // of one guard in one profile; 10 s
	Repetitions int           // 10
}

func orElse[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// chosen checks names against what there is; none chosen is all.
func chosen(what string, names, known []string) ([]string, error) {
	if len(names) == 0 {
		return known, nil
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("bench: unknown %s %q: use one of %s", what, n, strings.Join(known, ", "))
		}
	}
	// In the order of display, once each.
	return slices.DeleteFunc(slices.Clone(known), func(k string) bool { return !slices.Contains(names, k) }), nil
}

// withBases adds the guards that ratios are formed with.
func withBases(guards []string) ([]string, error) {
	if len(guards) > 0 {
		guards = append(slices.Clone(guards), base, limit)
	}
	return chosen("guard", guards, gpc.BenchGuards())
}

func threadCounts(counts []int) ([]int, error) {
	if len(counts) == 0 {
		return []int{1, 2, 4, 8, 16}, nil
	}
	for _, n := range counts {
		if n < 1 || n > MaxThreads {
			return nil, fmt.Errorf("bench: %d threads: give 1 to %d", n, MaxThreads)
		}
	}
	counts = slices.Clone(counts)
	slices.Sort(counts)
	return slices.Compact(counts), nil
}

func inRange[T int | time.Duration](what string, v, lo, hi T) error {
	if v < lo || v > hi {
		return fmt.Errorf("bench: %s %v is out of range: give %v to %v", what, v, lo, hi)
	}
	return nil
}
