// SPDX-License-Identifier: Apache-2.0

package srcu

import "time"

// A section is one that was running when the grace period looked.
type section struct {
	place place
	slot  *Slot
	seq   uint64 // odd
	// restartable: a fence ends whatever use the section makes of old pointers.
	restartable bool
	cpu         int32 // of the thread; see witness
}

func (s *section) ended() bool { return s.slot.seq.Load() != s.seq }

// pending is what a grace period still waits for. It is reused between grace
// periods so that they allocate nothing; it never outgrows the slots there are.
type pending struct {
	sections  []section
	witnesses []witness
	seen      bool // a section was dropped because of a witness
}

// snapshot records every section running now.
func (p *pending) snapshot(d *Domain) {
	p.sections, p.witnesses, p.seen = p.sections[:0], p.witnesses[:0], false
	for c := d.head; c != nil; c = c.next.Load() {
		slots := c.slots[:c.used.Load()]
		for i := range slots {
			if seq := slots[i].seq.Load(); seq&1 != 0 {
				// The mode only changes between sections. Should it be that of a later
				// one, then this one has ended, and any way to wait for it is right.
				mode := slots[i].mode.Load()
				p.sections = append(p.sections, section{place: place{c, i}, slot: &slots[i], seq: seq, restartable: mode == ModeRestartable})
			}
		}
	}
}

// poll drops the sections that have ended and reports whether none is left.
func (p *pending) poll() bool {
	rest := p.sections[:0]
	for _, s := range p.sections {
		if !s.ended() {
			rest = append(rest, s)
		}
	}
	p.sections = rest
	return len(rest) == 0
}

// restartable reports whether a fence would help.
func (p *pending) restartable() bool {
	for i := range p.sections {
		if p.sections[i].restartable {
			return true
		}
	}
	return false
}

// fenced drops the sections that a fence has restarted.
func (p *pending) fenced() {
	rest := p.sections[:0]
	for _, s := range p.sections {
		if !s.restartable {
			rest = append(rest, s)
		}
	}
	p.sections = rest
}

// pollsPerClock keeps the clock, which costs as much as several polls, off most
// rounds of the spin.
const pollsPerClock = 8

// spin polls until all sections have ended or were seen to be harmless, which it
// reports, or limit has passed since start. It is ordinary Go code, preemptible at
// any point.
func (p *pending) spin(start time.Time, limit time.Duration) bool {
	for first := true; ; first = false {
		for range pollsPerClock {
			if p.poll() {
				return true
			}
			pause()
		}
		p.hear(first)
		if time.Since(start) >= limit {
			return p.poll()
		}
	}
}
