// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// SlotSetter changes KVM's memory slots (vmm/kvm.VM). A size of 0 deletes.
type SlotSetter interface {
	SetUserMemoryRegion(slot, flags uint32, gpa, size uint64, hva uintptr) error
}

// Notifier is told about every change before and after (gpc.Set). When
// InvalidateStart returns nil, no reader behind it uses an old host address of
// the range any more. If it returns an error, InvalidateEnd is not called for it.
type Notifier interface {
	InvalidateStart(gpa, n uint64, mayBlock bool) error
	InvalidateEnd(gpa, n uint64)
}

// Gate stops all vCPUs outside KVM_RUN until resume is called. It is used for
// changes during which a slot is missing for a moment.
type Gate interface {
	Pause() (resume func())
}

// DefaultMaxSlots is used when Config.MaxSlots is 0: what KVM has had on x86
// since Linux 4.2 at least.
const DefaultMaxSlots = 509

// Config describes a guest's memory.
type Config struct {
	Size     uint64     // RAM in bytes: a multiple of 4096 from MinSize to MaxSize
	Slots    SlotSetter // nil: no KVM (unit tests)
	MaxSlots int        // KVM_CAP_NR_MEMSLOTS; 0 means DefaultMaxSlots
	Gate     Gate       // nil: vCPUs need no stopping
	Log      *slog.Logger
}

// ram is one of the pieces that RAM consists of.
type ram struct {
	kvmSlot
	off uint64 // in the memfd
}

func (*ram) String() string { return "RAM" }

// Memory is a guest's physical memory. All methods may be called from any
// goroutine.
type Memory struct {
	host    host
	slots   SlotSetter
	gate    Gate
	log     *slog.Logger
	size    uint64
	fd      int // RAM
	ramBase hva
	ram     []ram // immutable

	readers    *lender
	view       atomic.Pointer[view]
	dirty      atomic.Pointer[dirtyMap]
	tracking   atomic.Bool // dirty is not nil
	generation atomic.Uint64
	changes    atomic.Uint64

	mu        sync.Mutex // changes, and what follows
	notifiers []Notifier
	ids       slotIDs
	overlays  map[uint64]*overlay // by frame
	added     map[*Slot]bool
	pages     []*Pages
	broken    error
}

// New makes a guest's RAM, all zero and not yet backed by host memory, and its
// KVM slots.
func New(c Config) (*Memory, error) { return newMemory(c, linux{}) }

func newMemory(c Config, h host) (*Memory, error) {
	ranges, err := Layout(c.Size)
	if err != nil {
		return nil, err
	}
	if c.MaxSlots == 0 {
		c.MaxSlots = DefaultMaxSlots
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	m := &Memory{
		host: h, slots: c.Slots, gate: c.Gate, log: c.Log, size: c.Size,
		readers: newLender(), ids: slotIDs{limit: c.MaxSlots},
		overlays: map[uint64]*overlay{}, added: map[*Slot]bool{},
	}
	if m.fd, err = newFile("guest-ram", c.Size); err != nil {
		return nil, err
	}
	if m.ramBase, err = h.mapNew(backing{fd: m.fd}, c.Size); err != nil {
		_ = unix.Close(m.fd)
		return nil, fmt.Errorf("map %s of guest RAM: %w (see ulimit -v and vm.overcommit_memory)", bytes(c.Size), err)
	}
	v, off := new(view), uint64(0)
	for _, r := range ranges {
		m.ram = append(m.ram, ram{kvmSlot{gpa: r.GPA, size: r.Size, hva: at(m.ramBase, off)}, off})
		off += r.Size
	}
	for i := range m.ram {
		r := &m.ram[i]
		if r.id, err = m.ids.take(); err == nil {
			err = m.addKVM(r.kvmSlot)
		}
		if err != nil {
			for j := range i {
				err = errors.Join(err, m.deleteKVM(m.ram[j].kvmSlot))
			}
			return nil, errors.Join(fmt.Errorf("guest RAM: %w", err), h.unmap(m.ramBase, c.Size), unix.Close(m.fd))
		}
		v = v.with(region{gpa: r.gpa, size: r.size, base: r.hva, owner: r})
	}
	m.view.Store(v)
	return m, nil
}

// Ranges are the guest-physical ranges of RAM, in ascending order.
func (m *Memory) Ranges() []Range {
	out := make([]Range, len(m.ram))
	for i, r := range m.ram {
		out[i] = Range{r.gpa, r.size}
	}
	return out
}

// Size is the amount of RAM in bytes.
func (m *Memory) Size() uint64 { return m.size }

// AddNotifier registers n for all changes from now on.
func (m *Memory) AddNotifier(n Notifier) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.notifiers = append(m.notifiers, n)
}

// Generation is a number that grows with every successful change.
func (m *Memory) Generation() uint64 { return m.generation.Load() }

// Changes is the number of KVM slot changes made so far, RAM's own included.
func (m *Memory) Changes() uint64 { return m.changes.Load() }

// ramAt is the piece of RAM that holds gpa, or nil.
func (m *Memory) ramAt(gpa uint64) *ram {
	for i := range m.ram {
		if r := &m.ram[i]; gpa-r.gpa < r.size {
			return r
		}
	}
	return nil
}

// Close invalidates everything, waits for accesses in progress, and gives all
// memory back; accesses and changes fail with ErrClosed from then on. The vCPUs
// must have stopped. KVM's slots are left alone: they go with the VM. It is
// idempotent.
func (m *Memory) Close() error {
	t := tx{m: m}
	m.mu.Lock()
	if m.view.Load() == nil {
		m.mu.Unlock()
		return nil
	}
	err := t.invalidate(Range{0, MaxGPA})
	m.view.Store(nil)
	m.generation.Add(1)
	m.readers.domain.Synchronize()
	errs := []error{err, m.host.unmap(m.ramBase, m.size), unix.Close(m.fd)}
	for _, o := range m.overlays {
		if o.hole != nil {
			errs = append(errs, m.host.unmap(o.hole.hva, PageSize))
		}
	}
	for s := range m.added {
		errs = append(errs, m.host.unmap(s.kvm.hva, s.kvm.size), unix.Close(s.fd))
	}
	for _, p := range m.pages {
		errs = append(errs, m.host.unmap(p.base, p.bytes()), unix.Close(p.fd))
	}
	clear(m.overlays)
	clear(m.added)
	m.pages = nil
	m.readers.retire()
	m.mu.Unlock()
	t.end()
	return errors.Join(errs...)
}
