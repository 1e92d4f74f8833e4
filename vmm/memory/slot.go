// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Slot is a memory slot of its own outside RAM: device memory, hotplugged
// memory, or a slot that only exists to be changed. All methods may be called
// from any goroutine and are transactions; after Delete they fail with
// ErrNotMapped.
type Slot struct {
	m    *Memory
	name string
	fd   int
	kvm  kvmSlot // under m.mu
}

func (s *Slot) String() string { return "slot " + s.name }

func (s *Slot) region() region {
	return region{gpa: s.kvm.gpa, size: s.kvm.size, base: s.kvm.hva, owner: s}
}

// AddSlot adds size bytes of zeroed memory at gpa, both multiples of 4096. flags
// are KVM's (kvm.MemReadonly, kvm.MemLogDirtyPages).
func (m *Memory) AddSlot(name string, gpa, size uint64, flags uint32) (*Slot, error) {
	s := &Slot{m: m, name: name, fd: -1}
	err := m.change("add slot "+name, func(t *tx) error {
		if err := m.checkRoom(t, gpa, size, nil); err != nil {
			return err
		}
		id, err := t.takeID()
		if err != nil {
			return err
		}
		err = t.step(func() (err error) { s.fd, err = newFile(name, size); return err },
			func() error { return unix.Close(s.fd) })
		if err != nil {
			return err
		}
		p, err := t.mapNew(backing{fd: s.fd}, size)
		if err != nil {
			return err
		}
		if err := t.invalidate(Range{gpa, size}); err != nil {
			return err
		}
		s.kvm = kvmSlot{id: id, flags: flags, gpa: gpa, size: size, hva: p}
		if err := t.addSlot(s.kvm); err != nil {
			return err
		}
		t.view = t.next().with(s.region())
		t.onCommit(func() { m.added[s] = true })
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// checkRoom tells whether a slot may occupy [gpa, gpa+size). skip is a slot that
// may be in the way.
func (m *Memory) checkRoom(t *tx, gpa, size uint64, skip *Slot) error {
	if err := checkPages(gpa, size); err != nil {
		return err
	}
	if size > MaxSize {
		return fmt.Errorf("size %s: %w (at most %s)", bytes(size), ErrRange, bytes(MaxSize))
	}
	if r := t.next().overlaps(gpa, size, skip); r != nil {
		return fmt.Errorf("[%#x, +%#x): %w by %v", gpa, size, ErrOverlap, r)
	}
	return nil
}

// alter runs body as a transaction on a slot that still exists.
func (s *Slot) alter(op string, body func(t *tx) error) error {
	return s.m.change(op+" "+s.String(), func(t *tx) error {
		if !s.m.added[s] {
			return ErrNotMapped
		}
		return body(t)
	})
}

// Range is where the slot is now; a size of 0 once it was deleted.
func (s *Slot) Range() Range {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if !s.m.added[s] {
		return Range{}
	}
	return Range{s.kvm.gpa, s.kvm.size}
}

// Move moves the slot to gpa with its contents. The host mapping stays.
func (s *Slot) Move(gpa uint64) error {
	return s.alter("move", func(t *tx) error {
		if gpa == s.kvm.gpa {
			return nil
		}
		if err := s.m.checkRoom(t, gpa, s.kvm.size, s); err != nil {
			return err
		}
		return s.replace(t, func(to *kvmSlot) { to.gpa = gpa })
	})
}

// SetFlags changes KVM's flags of the slot. KVM cannot change MemReadonly of an
// existing slot, and its error says so.
func (s *Slot) SetFlags(flags uint32) error {
	return s.alter("set flags of", func(t *tx) error {
		return s.replace(t, func(to *kvmSlot) { to.flags = flags })
	})
}

// replace changes what one KVM call can change.
func (s *Slot) replace(t *tx, edit func(*kvmSlot)) error {
	from, to := s.kvm, s.kvm
	edit(&to)
	if err := t.invalidate(Range{from.gpa, from.size}, Range{to.gpa, to.size}); err != nil {
		return err
	}
	if err := t.changeSlot(from, to); err != nil {
		return err
	}
	moved := s.region()
	moved.gpa = to.gpa
	t.view = t.next().without(s).with(moved)
	t.onCommit(func() { s.kvm = to })
	return nil
}

// Resize makes the slot size bytes large. Contents stay; new memory is zero.
// KVM can only delete and add, so the vCPUs are stopped by the gate meanwhile.
func (s *Slot) Resize(size uint64) error {
	defer s.m.pause()()
	return s.alter("resize", func(t *tx) error {
		from, to := s.kvm, s.kvm
		if err := s.m.checkRoom(t, from.gpa, size, s); err != nil {
			return err
		}
		if size == from.size {
			return nil
		}
		if size > from.size {
			err := t.step(func() error { return unix.Ftruncate(s.fd, int64(size)) },
				func() error { return unix.Ftruncate(s.fd, int64(from.size)) })
			if err != nil {
				return fmt.Errorf("grow to %s: %w", bytes(size), err)
			}
		}
		p, err := t.mapNew(backing{fd: s.fd}, size)
		if err != nil {
			return err
		}
		if err := t.invalidate(Range{from.gpa, max(from.size, size)}); err != nil {
			return err
		}
		to.size, to.hva = size, p
		if err := t.deleteSlot(from); err != nil {
			return err
		}
		if err := t.addSlot(to); err != nil {
			return err
		}
		t.onCommit(func() { s.kvm = to })
		t.view = t.next().without(s).with(region{gpa: to.gpa, size: to.size, base: p, owner: s})
		t.afterGrace(func() error {
			err := s.m.host.unmap(from.hva, from.size)
			if size < from.size {
				err = errors.Join(err, unix.Ftruncate(s.fd, int64(size)))
			}
			return err
		})
		return nil
	})
}

// Delete takes the slot away from the guest and frees its memory.
func (s *Slot) Delete() error {
	return s.alter("delete", func(t *tx) error {
		k := s.kvm
		if err := t.invalidate(Range{k.gpa, k.size}); err != nil {
			return err
		}
		if err := t.deleteSlot(k); err != nil {
			return err
		}
		t.view = t.next().without(s)
		t.onCommit(func() { delete(s.m.added, s); s.m.ids.give(k.id) })
		t.afterGrace(func() error { return errors.Join(s.m.host.unmap(k.hva, k.size), unix.Close(s.fd)) })
		return nil
	})
}
