// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"time"
)

const (
	// readerWork is what a reader at 0.5 % does between two deliveries, of which
	// one takes some 25 ns.
	readerWork = 5 * time.Microsecond

	floodShared, floodVCPUs, floodReaders = 8, 4, 4
)

// A drainLoad is one way to load a Set: updaters, each with a cache to
// invalidate, and readers that deliver through all of them.
type drainLoad struct {
	id, title  string
	shared     int // caches of shared_info pages, each in a page of its own
	vcpus      int // of vcpu_info
	updateVCPU bool
	perCache   int // updaters of each cache
	readers    int
	work       bool // readers work between deliveries
	goroutines bool // not threads
	pace       time.Duration
	guards     []string
	note       string
}

// updated is how many caches are invalidated.
func (l *drainLoad) updated() int {
	if l.updateVCPU {
		return l.shared + l.vcpus
	}
	return l.shared
}

func (l *drainLoad) updaters() int { return l.updated() * l.perCache }

// flood reports whether it is the load that figures were published of.
func (l *drainLoad) flood() bool { return l.updateVCPU }

// DrainTable is the ID of the table of one of Invalidate's profiles; that of the
// flood depends on whether there are readers.
func DrainTable(profile string, readers bool) string {
	if profile == ProfileFlood && !readers {
		return "flood-alone"
	}
	return profile
}

// loads are what the chosen profiles stand for, in the order of display.
func (o InvalidateOptions) loads() (out []drainLoad) {
	for _, profile := range o.Profiles {
		l := drainLoad{id: profile, shared: 1, vcpus: 1, perCache: 1, readers: o.Readers, work: true, pace: o.Pace, guards: o.Guards}
		switch profile {
		case ProfileFlood:
			l.shared, l.vcpus, l.updateVCPU = floodShared, floodVCPUs, true
			l.title = fmt.Sprintf("Flood of %d updaters, %d readers", l.updaters(), floodReaders)
			l.readers = floodReaders
			l.note = "8 updaters of shared_info caches and 4 of vcpu_info caches, each invalidating and refreshing its own, as in the kernel series; the readers work 5 us between deliveries."
			alone := l
			alone.id, alone.readers = DrainTable(ProfileFlood, false), 0
			alone.title = fmt.Sprintf("Flood of %d updaters, no readers", l.updaters())
			alone.note = "The same without readers."
			if o.FloodReaders != ReadersOff {
				out = append(out, l)
			}
			if o.FloodReaders != ReadersOn {
				out = append(out, alone)
			}
			continue
		case ProfileDrain:
			l.title = fmt.Sprintf("One updater, %d threads reading 0.5 %% of the time", l.readers)
		case ProfileHot:
			l.title = fmt.Sprintf("One updater, %d threads reading all the time", l.readers)
			l.work = false
		case ProfileGoroutines:
			l.title = fmt.Sprintf("One updater, %d goroutines reading all the time", l.readers)
			l.work, l.goroutines = false, true
			l.note = fmt.Sprintf("Updater and readers are goroutines on as many of Go's processors as there are CPUs. The updater does %d transactions %v apart each time it is scheduled.", turn, turnPace)
		case ProfileUpdaters:
			l.title, l.perCache, l.readers = "Eight updaters at once, 2 threads reading 0.5 % of the time", 8, 2
		case ProfilePair:
			l.title, l.readers = "One updater, 2 threads reading 0.5 % of the time", 2
		}
		out = append(out, l)
	}
	return out
}
