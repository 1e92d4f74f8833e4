// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"xenvmm/gpc/srcu"
)

// A tally is one thing that a torture counts.
type tally int

const (
	tCycles tally = iota
	tMoves
	tHoles
	tNested
	tRefused
	tPoisoned // one per retireWays, in its order
	tInaccessible
	tMappedOver
	tDropped
	tUnmapped
	tAccepted
	tCoalesced
	tMasked
	tOwed
	tHalfway
	tUpcalls
	tWrites
	tTimers
	tEvictions
	tHandles
	tThreads
	tCrowd
	tSignals
	tStops
	tInside
	tPassed
	tCollections
	tProcs
	tLowered
	tFIFO
	tBusy
	tFaults
	tFast
	tSlow
	tRefreshes
	tRestarts
	tallies
)

var tallyNames = [tallies]string{
	tCycles: "cycles", tMoves: "moves of caches", tHoles: "holes", tNested: "nested transactions", tRefused: "refusals to wait",
	tPoisoned: "poisoned", tInaccessible: "made inaccessible", tMappedOver: "mapped over", tDropped: "dropped", tUnmapped: "unmapped",
	tAccepted: "events", tCoalesced: "coalesced", tMasked: "masked", tOwed: "owed raises", tHalfway: "events resumed halfway", tUpcalls: "upcalls", tWrites: "data writes",
	tTimers: "timers", tEvictions: "evictions", tHandles: "handles made and closed", tThreads: "threads come and gone", tCrowd: "crowds of readers",
	tSignals: "signals", tStops: "threads stopped", tInside: "stopped inside a section", tPassed: "stopped inside, passed by grace periods",
	tCollections: "collections", tProcs: "changes of GOMAXPROCS", tLowered: "readers at low priority", tFIFO: "real-time bursts", tBusy: "bursts of busy threads", tFaults: "page faults inside sections",
	tFast: "fast", tSlow: "slow", tRefreshes: "refreshes", tRestarts: "restarted sections",
}

// A torture in which something was never there has not done what it is for, and
// fails. Each run needs what is in tallyEach; the rest must have happened in one
// of them, some of it only where it is permitted, and what needs luck only if
// there was time for it.
var (
	tallyEach = []tally{tCycles, tAccepted, tRefreshes}
	tallyOnce = []tally{
		tFast, tSlow, tMoves, tHoles, tNested, tPoisoned, tInaccessible, tMappedOver, tDropped, tUnmapped,
		tCoalesced, tMasked, tUpcalls, tWrites, tTimers, tEvictions, tHandles, tThreads, tCrowd,
		tSignals, tCollections, tProcs, tLowered, tBusy, tFaults,
	}
	tallyRealTime = []tally{tFIFO}
	tallyStopped  = []tally{tStops}

	tallyLuck            = []tally{tRefused, tOwed}
	tallyLuckStopped     = []tally{tInside}
	tallyLuckRestartable = []tally{tRestarts, tPassed}
)

// enoughForLuck is the time that a torture must have taken to have had it.
const enoughForLuck = 15 * time.Second

type tallySheet [tallies]atomic.Int64

func (s *tallySheet) count(i tally) { s[i].Add(1) }

// summary is what a child tells its parent, on one line.
type summary struct {
	Counts  map[string]int64
	Skipped map[string]string // what could not be done, and why
	Slowest float64           // longest drain, in microseconds
	Wait    srcu.Wait         // how grace periods wait for threads; "" if the guard has none
}

const summaryMark = "SUMMARY "

func (s *summary) print() {
	b, err := json.Marshal(s)
	must(err)
	fmt.Printf("%s%s\n", summaryMark, b)
}

// summaryIn finds the summary in a child's output.
func summaryIn(out string) (s summary, ok bool) {
	for line := range strings.Lines(out) {
		if text, found := strings.CutPrefix(line, summaryMark); found {
			return s, json.Unmarshal([]byte(text), &s) == nil
		}
	}
	return s, false
}

func (s *summary) of(i tally) int64 { return s.Counts[tallyNames[i]] }

func (s *summary) String() string {
	graces := s.of(tFast) + s.of(tSlow)
	return fmt.Sprintf("%d cycles, %d grace periods (%.1f %% slow, longest %.0f us), %d refreshes, %d events, %d restarted sections, %d signals, %d stops (%d inside, %d passed by), %d page faults, %d collections, %d handles and %d threads made and closed",
		s.of(tCycles), graces, 100*float64(s.of(tSlow))/float64(max(graces, 1)), s.Slowest, s.of(tRefreshes), s.of(tAccepted), s.of(tRestarts),
		s.of(tSignals), s.of(tStops), s.of(tInside), s.of(tPassed), s.of(tFaults), s.of(tCollections), s.of(tHandles), s.of(tThreads))
}
