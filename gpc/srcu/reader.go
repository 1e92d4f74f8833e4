// SPDX-License-Identifier: Apache-2.0

package srcu

import (
	"fmt"
	"runtime"

	"xenvmm/gpc/srcu/rseq"
)

// A Reader is one goroutine's handle. It may be passed on between goroutines,
// but not while it is inside a section, and two never use it at once.
//
// One of NewThreadReader stays with its thread.
type Reader struct {
	slot  *Slot
	nest  uint32
	d     *Domain
	place place
	area  *rseq.Area // of the thread, if the slot is restartable; else nil
	leak  runtime.Cleanup
}

// NewReader returns a handle with a slot of its own. It never fails: slots are
// added as needed. The handle remembers where it was made, for the watchdog.
func (d *Domain) NewReader() *Reader { return d.newReader(nil, 2) }

// newReader makes a handle on behalf of the caller skip frames up.
func (d *Domain) newReader(a *rseq.Area, skip int) *Reader {
	owner := "unknown"
	if _, file, line, ok := runtime.Caller(skip); ok {
		owner = fmt.Sprintf("%s:%d", file, line)
	}
	h := held{d.acquire(owner), a}
	if a != nil {
		s := h.place.slot()
		s.sequence = a.Sequence()
		s.area.Store(cpuWord(a))
		s.mode.Store(ModeRestartable)
	}
	r := &Reader{slot: h.place.slot(), d: d, place: h.place, area: a}
	r.leak = runtime.AddCleanup(r, d.reclaim, h)
	return r
}

// held is what a handle has and gives back.
type held struct {
	place place
	area  *rseq.Area
}

func (d *Domain) giveBack(h held) {
	h.place.slot().unbind()
	if h.area != nil {
		h.area.Detach()
	}
	d.release(h.place)
}

// Close gives the slot back. A handle is closed outside its sections; closing
// it twice is harmless.
func (r *Reader) Close() {
	if r.slot == nil {
		return
	}
	if r.nest != 0 {
		panic("srcu: Close of a reader inside a section")
	}
	r.leak.Stop()
	r.slot = nil
	r.d.giveBack(held{r.place, r.area})
}

// Enter begins a section. Pointers loaded after it stay valid until the
// matching Exit. Sections nest.
func (r *Reader) Enter() {
	if r.nest == 0 {
		if r.area != nil {
			// Go code cannot be restarted. Whoever sees the counter odd sees that.
			r.slot.mode.Store(ModePlain)
		}
		// An exchange: the loads of the section come after it.
		r.slot.seq.Store(r.slot.seq.Load() + 1)
	}
	r.nest++
}

// Exit ends the section that the latest Enter began.
func (r *Reader) Exit() {
	switch r.nest {
	case 0:
		panic("srcu: Exit without Enter")
	case 1:
		r.nest = 0
		r.slot.leave()
		if r.area != nil {
			r.slot.mode.Store(ModeRestartable)
		}
	default:
		r.nest--
	}
}

// Slot returns the reader's slot, for sections written in assembly.
func (r *Reader) Slot() *Slot { return r.slot }

// reclaim takes back the slot of a handle that was dropped without Close. No
// one can be inside any more, since nobody has the handle; a section that was
// never ended would hold up every grace period for ever, so it is ended here.
func (d *Domain) reclaim(h held) {
	p := h.place
	owner := "unknown"
	if o := p.chunk.owners[p.index].Load(); o != nil {
		owner = *o
	}
	s := p.slot()
	inside := s.seq.Load()&1 != 0
	d.log.Warn("srcu reader was dropped without Close; its slot is reclaimed",
		"owner", owner, "inside_section", inside)
	if inside {
		s.leave()
	}
	d.giveBack(h)
}
