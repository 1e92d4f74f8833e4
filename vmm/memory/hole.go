// SPDX-License-Identifier: Apache-2.0

package memory

// newHole maps b at a new host address and gives it a slot at gpa.
func (t *tx) newHole(b backing, gpa uint64) (*hole, error) {
	id, err := t.takeID()
	if err != nil {
		return nil, err
	}
	p, err := t.mapNew(b, PageSize)
	if err != nil {
		return nil, err
	}
	h := &hole{kvmSlot{id: id, gpa: gpa, size: PageSize, hva: p}}
	if err := t.addSlot(h.kvmSlot); err != nil {
		return nil, err
	}
	t.view = t.next().with(h.region())
	return h, nil
}

// moveHole moves a slot to gpa with one ioctl, so that it needs no second slot.
// The host address stays.
func (t *tx) moveHole(h *hole, gpa uint64) (*hole, error) {
	to := &hole{h.kvmSlot}
	to.gpa = gpa
	if err := t.changeSlot(h.kvmSlot, to.kvmSlot); err != nil {
		return nil, err
	}
	t.view = t.next().without(h).with(to.region())
	return to, nil
}

// dropHole deletes a slot, and unmaps its page when no access can be using it.
func (t *tx) dropHole(h *hole) error {
	if err := t.deleteSlot(h.kvmSlot); err != nil {
		return err
	}
	t.view = t.next().without(h)
	t.onCommit(func() { t.m.ids.give(h.id) })
	t.afterGrace(func() error { return t.m.host.unmap(h.hva, PageSize) })
	return nil
}

func (h *hole) region() region {
	return region{gpa: h.gpa, size: h.size, base: h.hva, owner: h}
}
