// SPDX-License-Identifier: Apache-2.0

package memory

import "fmt"

// overlay is a page laid over a frame. hole is nil over RAM.
type overlay struct {
	gfn  uint64
	p    *Pages
	idx  int
	hole *hole
}

// hole is the memory slot of a frame outside RAM. Its host address stays while
// pages replace each other there.
type hole struct{ kvmSlot }

func (*hole) String() string { return "page mapped at" }

// MapPage lays page idx of p over frame gfn. Over RAM the frame's host address
// is remapped in place, so the guest never sees a gap and KVM no slot change;
// in a hole the page gets a slot. A page already there is displaced and becomes
// unmapped; p's page leaves the frame where it was before, and RAM, if there is
// any, reappears there. Contents stay with the page. Fails with ErrRange,
// ErrOverlap (the frame belongs to an added slot) or ErrNoSlots.
func (m *Memory) MapPage(p *Pages, idx int, gfn uint64) error {
	op := fmt.Sprintf("map %s at frame %#x", p.name, gfn)
	return m.change(op, func(t *tx) error {
		if err := m.checkPage(p, idx); err != nil {
			return err
		}
		if gfn >= MaxGPA/PageSize {
			return fmt.Errorf("%w (at most %#x)", ErrRange, uint64(MaxGPA/PageSize-1))
		}
		was, there := p.at[idx], m.overlays[gfn]
		if was != nil && was == there {
			return nil
		}
		gpa := gfn * PageSize
		if there == nil && m.ramAt(gpa) == nil {
			if r := t.next().overlaps(gpa, PageSize, nil); r != nil {
				return fmt.Errorf("%w by %v", ErrOverlap, r)
			}
		}
		touched := []Range{{gpa, PageSize}}
		if was != nil {
			touched = append(touched, Range{was.gfn * PageSize, PageSize})
		}
		if err := t.invalidate(touched...); err != nil {
			return err
		}
		o := &overlay{gfn: gfn, p: p, idx: idx}
		switch r := m.ramAt(gpa); {
		case r != nil:
			err := t.mapOver(at(r.hva, gpa-r.gpa), p.backing(idx), m.behind(r, gfn), PageSize)
			if err != nil {
				return err
			}
		case there != nil:
			o.hole = there.hole
			err := t.mapOver(o.hole.hva, p.backing(idx), there.p.backing(there.idx), PageSize)
			if err != nil {
				return err
			}
		case was != nil && was.hole != nil:
			h, err := t.moveHole(was.hole, gpa)
			if err != nil {
				return err
			}
			o.hole = h
			t.forget(was)
			was = nil // its slot went along, so nothing is left at the old frame
		default:
			h, err := t.newHole(p.backing(idx), gpa)
			if err != nil {
				return err
			}
			o.hole = h
		}
		if was != nil {
			if err := t.uncover(was); err != nil {
				return err
			}
		}
		if there != nil {
			t.onCommit(func() { there.p.put(there.idx, nil) })
		}
		t.onCommit(func() { m.overlays[gfn] = o; p.put(idx, o) })
		return nil
	})
}

// UnmapPage takes page idx of p away from the guest; RAM reappears if the frame
// has any. The page keeps its contents. ErrNotMapped if it is not mapped.
func (m *Memory) UnmapPage(p *Pages, idx int) error {
	return m.change("unmap "+p.name, func(t *tx) error {
		if err := m.checkPage(p, idx); err != nil {
			return err
		}
		was := p.at[idx]
		if was == nil {
			return fmt.Errorf("%s: %w", p.page(idx), ErrNotMapped)
		}
		if err := t.invalidate(Range{was.gfn * PageSize, PageSize}); err != nil {
			return err
		}
		if err := t.uncover(was); err != nil {
			return err
		}
		t.onCommit(func() { p.put(idx, nil) })
		return nil
	})
}

// PageGFN tells over which frame page idx of p lies.
func (m *Memory) PageGFN(p *Pages, idx int) (gfn uint64, mapped bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.checkPage(p, idx) != nil || p.at[idx] == nil {
		return 0, false
	}
	return p.at[idx].gfn, true
}

// Overlay tells which page lies over frame gfn.
func (m *Memory) Overlay(gfn uint64) (p *Pages, idx int, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.overlays[gfn]
	if !ok {
		return nil, 0, false
	}
	return o.p, o.idx, true
}

func (m *Memory) checkPage(p *Pages, idx int) error {
	if p.m != m || idx < 0 || idx >= p.n {
		return fmt.Errorf("%s: %w (it has %d pages)", p.page(idx), ErrRange, p.n)
	}
	return nil
}

// behind is what a frame of RAM shows now: a page laid over it, or RAM.
func (m *Memory) behind(r *ram, gfn uint64) backing {
	if o := m.overlays[gfn]; o != nil {
		return o.p.backing(o.idx)
	}
	return backing{m.fd, r.off + gfn*PageSize - r.gpa}
}

// uncover takes an overlay away from its frame.
func (t *tx) uncover(o *overlay) error {
	t.forget(o)
	if o.hole != nil {
		return t.dropHole(o.hole)
	}
	gpa := o.gfn * PageSize
	r := t.m.ramAt(gpa)
	return t.mapOver(at(r.hva, gpa-r.gpa), backing{t.m.fd, r.off + gpa - r.gpa}, o.p.backing(o.idx), PageSize)
}

// forget removes the overlay from the books.
func (t *tx) forget(o *overlay) {
	t.onCommit(func() { delete(t.m.overlays, o.gfn) })
}
