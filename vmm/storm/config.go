// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"fmt"
	"time"

	"xenvmm/vmm"
)

// Config says how hard the storm blows. Zero values mean the defaults.
type Config struct {
	// Machine is the machine to run it on. Kernel, Cmdline and HostEvents are
	// set by the storm.
	Machine vmm.Config
	Sources int           // eventfds, each with a port of its own; default 64
	Senders int           // threads that write to them; default 2
	Events  uint64        // writes to make at least; default 100,000
	Changes uint64        // memslot changes to make at least; default 1,500
	Moves   int           // times the guest moves its shared_info; default 50, negative for none
	Pace    time.Duration // a sender's pause after each round over its sources; default 200 µs, negative for none
	Upcall  string        // "vector" (default), "callback" or "gsi"
	Args    string        // further command line of the guest

	// Progress is called about ten times a second, from one goroutine; may be nil.
	Progress func(Progress)
}

// Progress is how far a storm is.
type Progress struct {
	Events, EventsWanted   uint64
	Changes, ChangesWanted uint64
}

func (c Config) withDefaults() Config {
	set := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	set(&c.Sources, 64)
	set(&c.Senders, 2)
	set(&c.Moves, 50)
	if c.Events == 0 {
		c.Events = 100_000
	}
	if c.Changes == 0 {
		c.Changes = 1_500
	}
	if c.Pace == 0 {
		c.Pace = 200 * time.Microsecond
	}
	c.Pace, c.Moves = max(c.Pace, 0), max(c.Moves, 0)
	if c.Upcall == "" {
		c.Upcall = "vector"
	}
	if c.Machine.CPUs == 0 {
		c.Machine.CPUs = 2
	}
	return c
}

func (c Config) check() error {
	bad := func(field string, value any, remedy string) error {
		return &vmm.ConfigError{Field: field, Value: fmt.Sprint(value), Remedy: remedy}
	}
	switch {
	case c.Sources < 1 || c.Sources >= vmm.MaxHostEvents:
		return bad("sources", c.Sources, fmt.Sprintf("give 1 to %d", vmm.MaxHostEvents-1))
	case c.Senders < 1 || c.Senders > c.Sources:
		return bad("senders", c.Senders, fmt.Sprintf("give 1 to the number of sources, %d", c.Sources))
	}
	switch c.Upcall {
	case "vector", "callback", "gsi":
		return nil
	}
	return bad("upcall", c.Upcall, "give vector, callback or gsi")
}
