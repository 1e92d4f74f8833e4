// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
)

// The kinds of steps that transactions are made of.

// setSlot does one KVM slot ioctl and counts it. Without a SlotSetter there is
// no KVM, and nothing to do but count.
func (m *Memory) setSlot(id, flags uint32, gpa, size uint64, host hva) error {
	if m.slots != nil {
		if err := m.slots.SetUserMemoryRegion(id, flags, gpa, size, address(host)); err != nil {
			return err
		}
	}
	m.changes.Add(1)
	return nil
}

// kvmSlot is a KVM slot's state.
type kvmSlot struct {
	id, flags uint32
	gpa, size uint64
	hva       hva
}

func (m *Memory) addKVM(s kvmSlot) error { return m.setSlot(s.id, s.flags, s.gpa, s.size, s.hva) }
func (m *Memory) deleteKVM(s kvmSlot) error {
	return m.setSlot(s.id, s.flags, s.gpa, 0, s.hva)
}

func (t *tx) addSlot(s kvmSlot) error {
	return t.step(func() error { return t.m.addKVM(s) }, func() error { return t.m.deleteKVM(s) })
}

func (t *tx) deleteSlot(s kvmSlot) error {
	return t.step(func() error { return t.m.deleteKVM(s) }, func() error { return t.m.addKVM(s) })
}

// changeSlot moves a slot or changes its flags, in one ioctl.
func (t *tx) changeSlot(from, to kvmSlot) error {
	return t.step(func() error { return t.m.addKVM(to) }, func() error { return t.m.addKVM(from) })
}

// takeID reserves a slot number.
func (t *tx) takeID() (id uint32, err error) {
	id, err = t.m.ids.take()
	if err == nil {
		t.undo = append(t.undo, func() error { t.m.ids.give(id); return nil })
	}
	return id, err
}

// mapNew maps memory at a new host address.
func (t *tx) mapNew(b backing, n uint64) (p hva, err error) {
	p, err = t.m.host.mapNew(b, n)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w (host out of memory or address space, see ulimit -v and vm.max_map_count)", bytes(n), err)
	}
	t.undo = append(t.undo, func() error { return t.m.host.unmap(p, n) })
	return p, nil
}

// mapOver replaces one mapping by another at the same address. The kernel may
// have removed the old one already when it reports failure, so even a failed
// attempt is undone.
func (t *tx) mapOver(at hva, to, from backing, n uint64) error {
	t.undo = append(t.undo, func() error { return t.m.host.mapOver(at, from, n) })
	if err := t.m.host.mapOver(at, to, n); err != nil {
		return fmt.Errorf("remap %s: %w (see vm.max_map_count)", bytes(n), err)
	}
	return nil
}
