// SPDX-License-Identifier: Apache-2.0

package srcu

import "xenvmm/gpc/srcu/rseq"

// A fence interrupts every processor that runs the process, which can cost more
// than all the rest of a grace period, most of all in a virtual machine. But the
// kernel restarts a range by itself whenever its thread loses the processor, and
// on a busy machine that is why a section is still there. So while it spins the
// updater looks for evidence that this has happened:
//
//   - it runs, after the withdrawal, on the very processor that the section's
//     thread was last sent to; or
//   - another reader does: its counter has moved since, and it is on that
//     processor.
//
// Either way the section's thread is not running there, and before it runs
// anywhere again the kernel restarts the range it was in, if it was in one.
//
// What is relied on: the kernel writes cpu_id into the thread's rseq area before
// the thread runs on another processor, and its way back to the thread serializes
// (IRET does), so that nothing of the thread's is done before the number is
// visible; it drains a processor's stores when it switches threads.
//
// The order of looks matters: all come after the withdrawal, and the witness's
// number after the change of its counter. The model in witness_model_test.go tries
// the others too.
type witness struct {
	slot *Slot
	seq  uint64
}

// foreign marks the address in Slot.area of a word that may go away.
const foreign = 1

// cpuWord is what Slot.area has for an area.
func cpuWord(a *rseq.Area) uintptr {
	at, ours := a.CPU()
	if !ours {
		at |= foreign
	}
	return at
}

// cpu returns the processor that the owner's thread was last sent to, or a
// negative number.
func (s *Slot) cpu() int32 {
	n := s.bindings.Load()
	at := s.area.Load()
	cpu, ok := int32(-1), false
	switch {
	case at == 0:
	case at&foreign == 0:
		cpu, ok = rseq.LoadCPU(at), true
	default:
		cpu, ok = rseq.PeekCPU(at &^ foreign)
	}
	// If the slot has changed hands meanwhile the number may be anything.
	if !ok || s.bindings.Load() != n {
		return -1
	}
	return cpu
}

// look follows snapshot. It notes where the threads of the restartable sections are, and then the
// counters of all restartable readers.
func (p *pending) look(d *Domain) {
	if !p.restartable() {
		return
	}
	for i := range p.sections {
		if s := &p.sections[i]; s.restartable {
			s.cpu = s.slot.cpu()
		}
	}
	for c := d.head; c != nil; c = c.next.Load() {
		slots := c.slots[:c.used.Load()]
		for i := range slots {
			if w := &slots[i]; w.mode.Load() == ModeRestartable {
				p.witnesses = append(p.witnesses, witness{w, w.seq.Load()})
			}
		}
	}
}

// hear drops the sections for which the caller is a witness, or a reader whose
// counter has moved.
func (p *pending) hear(caller bool) {
	if caller && len(p.witnesses) > 0 {
		p.lost(rseq.CurrentCPU())
	}
	for i := range p.witnesses {
		w := &p.witnesses[i]
		if seq := w.slot.seq.Load(); seq != w.seq {
			w.seq = seq
			p.lost(w.slot.cpu())
		}
	}
}

// lost drops the sections whose threads were on a processor that now runs another.
func (p *pending) lost(cpu int32) {
	if cpu < 0 {
		return
	}
	rest := p.sections[:0]
	for _, s := range p.sections {
		if s.restartable && s.cpu == cpu {
			p.seen = true
			continue
		}
		rest = append(rest, s)
	}
	p.sections = rest
}
