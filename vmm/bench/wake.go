// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// WakeOptions choose what Wake measures. What is zero takes the default.
type WakeOptions struct {
	Rounds   int           // 5
	Duration time.Duration // of one receiver in one condition, all rounds together; 2 s
}

func (o WakeOptions) withDefaults() (WakeOptions, error) {
	orElse(&o.Rounds, 5)
	orElse(&o.Duration, 2*time.Second)
	if err := inRange("number of rounds", o.Rounds, 1, 1000); err != nil {
		return o, err
	}
	return o, inRange("duration", o.Duration, time.Millisecond, time.Hour)
}

// A condition is what the rest of the process does while events are sent.
type condition struct {
	name string
	gap  time.Duration // the sender sleeps at least this long between two events
	busy int           // goroutines that never rest, for each CPU
	room int           // how many Ps more than there are CPUs
}

func wakeConditions() []condition {
	return []condition{
		{name: "idle, every 100 us", gap: 100 * time.Microsecond},
		{name: "idle, every 2 ms", gap: 2 * time.Millisecond},
		{name: "all Ps busy", gap: 2 * time.Millisecond, busy: 1},
		{name: "CPUs busy, Ps to spare", gap: 2 * time.Millisecond, busy: 1, room: 3},
	}
}

// Wake measures how long it takes from a write to an eventfd until a handler
// in this process runs, for the ways to wait that Go offers. It changes
// GOMAXPROCS while it runs and keeps every CPU busy in some of its conditions,
// so nothing else should happen in the process.
//
// When ctx ends, what was measured until then is returned together with the
// cause.
func Wake(ctx context.Context, o WakeOptions, p Progress) (*Report, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	report, finish := begin("wake", "from a write to an eventfd to its handler", []Param{
		{"rounds", fmt.Sprint(o.Rounds)}, {"duration", o.Duration.String()},
	})
	var (
		conditions = wakeConditions()
		receivers  = wakeReceivers()
		rows       = make([]*wakeRow, len(conditions)*len(receivers))
	)
	for i := range rows {
		rows[i] = newWakeRow(conditions[i/len(receivers)], receivers[i%len(receivers)])
	}
	done, err := takeTurns(o.Rounds, rows, p,
		func(r *wakeRow) string { return r.receiver.name + ", " + r.condition.name },
		func(r *wakeRow) error { return r.measure(ctx, o.Duration/time.Duration(o.Rounds)) })
	if done == 0 {
		return nil, err
	}
	report.Partial = err != nil
	wakeResults(report, rows)
	finish()
	return report, err
}

// measure is one slice of one row.
func (r *wakeRow) measure(ctx context.Context, d time.Duration) (err error) {
	procs := runtime.GOMAXPROCS(0)
	if r.condition.room > 0 {
		runtime.GOMAXPROCS(procs + r.condition.room)
		defer runtime.GOMAXPROCS(procs)
	}
	calm := makeBusy(r.condition.busy * procs)
	defer calm()
	return r.slice(ctx, d)
}
