// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
)

// pause stops the vCPUs and returns how to let them go on. It must be called
// without m.mu: a vCPU may be waiting for it in a hypercall.
func (m *Memory) pause() (resume func()) {
	if m.gate == nil {
		return func() {}
	}
	return m.gate.Pause()
}

// run is a piece of a region that one mapping call can cover.
type run struct {
	at hva
	b  backing
	n  uint64
}

// Remap gives every page of [gpa, gpa+n) a new mapping of the same memory at
// the same host address, as merging, migration between NUMA nodes or huge page
// changes do: KVM and all caches must look it up again. No slot changes, nothing
// is lost, and the guest sees no gap. The range is page-aligned and all mapped.
func (m *Memory) Remap(gpa, n uint64) error {
	return m.change(fmt.Sprintf("remap [%#x, +%#x)", gpa, n), func(t *tx) error {
		if err := checkPages(gpa, n); err != nil {
			return err
		}
		if !t.next().covers(gpa, n) {
			return ErrNoMemory
		}
		if err := t.invalidate(Range{gpa, n}); err != nil {
			return err
		}
		for n > 0 {
			r := m.runAt(t.next(), gpa, n)
			if err := t.mapOver(r.at, r.b, r.b, r.n); err != nil {
				return err
			}
			gpa, n = gpa+r.n, n-r.n
		}
		return nil
	})
}

// runAt is the longest run at gpa, at most n bytes. The address is mapped.
func (m *Memory) runAt(v *view, gpa, n uint64) run {
	r := v.find(gpa)
	off := gpa - r.gpa
	n = min(n, r.size-off)
	out := run{at: at(r.base, off), n: n}
	switch o := r.owner.(type) {
	case *Slot:
		out.b = backing{o.fd, off}
	case *hole:
		over := m.overlays[gpa/PageSize]
		out.b = over.p.backing(over.idx)
	case *ram:
		if over := m.overlays[gpa/PageSize]; over != nil {
			out.b, out.n = over.p.backing(over.idx), PageSize
			break
		}
		out.b, out.n = backing{m.fd, o.off + off}, m.uncovered(gpa, n)
	}
	return out
}

// uncovered is how many bytes from gpa on, at most n, have no page over them.
func (m *Memory) uncovered(gpa, n uint64) uint64 {
	for gfn := range m.overlays {
		if a := gfn * PageSize; a >= gpa && a-gpa < n {
			n = a - gpa
		}
	}
	return n
}

// Rehome moves a page that is mapped in a hole to another host address, as the
// kernel would see it after mremap: the vCPUs are stopped by the gate, the slot
// is deleted, the page mapped elsewhere, the slot added again, and the old
// address unmapped. ErrNotMapped if no page is mapped at gfn; ErrRange if it
// lies over RAM, which never changes its host address.
func (m *Memory) Rehome(gfn uint64) error {
	defer m.pause()()
	return m.change(fmt.Sprintf("rehome frame %#x", gfn), func(t *tx) error {
		o := m.overlays[gfn]
		switch {
		case o == nil:
			return ErrNotMapped
		case o.hole == nil:
			return fmt.Errorf("%w: the page lies over RAM", ErrRange)
		}
		old := o.hole
		p, err := t.mapNew(o.p.backing(o.idx), PageSize)
		if err != nil {
			return err
		}
		if err := t.invalidate(Range{old.gpa, PageSize}); err != nil {
			return err
		}
		to := &hole{old.kvmSlot}
		to.hva = p
		if err := t.deleteSlot(old.kvmSlot); err != nil {
			return err
		}
		if err := t.addSlot(to.kvmSlot); err != nil {
			return err
		}
		t.view = t.next().without(old).with(to.region())
		t.onCommit(func() { o.hole = to })
		t.afterGrace(func() error { return m.host.unmap(old.hva, PageSize) })
		return nil
	})
}

// Discard frees the host memory behind n frames of RAM from gfn on; they read
// as zero afterwards, until written (balloon). Pages laid over them stay, and
// what is discarded is the RAM below. All frames must be RAM. This is the one
// change that cannot be undone: after an error of the host some of the frames
// may be empty already.
func (m *Memory) Discard(gfn, n uint64) error {
	return m.change(fmt.Sprintf("discard %d frames at %#x", n, gfn), func(t *tx) error {
		if gfn >= MaxGPA/PageSize || n > MaxGPA/PageSize {
			return ErrRange
		}
		gpa, size := gfn*PageSize, n*PageSize
		if err := checkPages(gpa, size); err != nil {
			return err
		}
		var parts []run
		for at := gpa; at < gpa+size; {
			r := m.ramAt(at)
			if r == nil {
				return fmt.Errorf("frame %#x: %w", at/PageSize, ErrNoMemory)
			}
			part := min(gpa+size, r.gpa+r.size) - at
			parts = append(parts, run{b: backing{m.fd, r.off + at - r.gpa}, n: part})
			at += part
		}
		if err := t.invalidate(Range{gpa, size}); err != nil {
			return err
		}
		defer m.MarkDirty(gpa, size) // also what an error leaves empty
		for _, p := range parts {
			if err := m.host.punch(p.b, p.n); err != nil {
				return fmt.Errorf("free %s: %w", bytes(p.n), err)
			}
		}
		return nil
	})
}
