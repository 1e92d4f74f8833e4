// SPDX-License-Identifier: Apache-2.0

package gnttab

import (
	"errors"
	"fmt"
	"sync"

	"xenvmm/xenshim/abi"
)

// Memory is the table's own frames: host pages that the guest maps wherever it
// likes, so they stay reachable while unmapped. frame counts from 0, off is a
// byte offset in it. Load32 and CompareAndSwap32 are single, sequentially
// consistent accesses to aligned words. An error says that the frame cannot be
// reached now; Table.Settle is to be called when it may be again.
type Memory interface {
	ReadAt(frame int, p []byte, off uint32) error
	WriteAt(frame int, p []byte, off uint32) error
	Load32(frame int, off uint32) (uint32, error)
	CompareAndSwap32(frame int, off, old, new uint32) (bool, error)
}

// RAM is the guest memory that grants may name. Contains reports whether all
// of [gpa, gpa+n) may be granted.
type RAM interface {
	Contains(gpa, n uint64) bool
	ReadAt(p []byte, gpa uint64) error
	WriteAt(p []byte, gpa uint64) error
}

// Config describes a Table.
type Config struct {
	MaxFrames  int       // frames of Memory the guest may use; 0 means 64
	Memory     Memory    // MaxFrames frames, zeroed
	RAM        RAM       // nil: every map and copy is refused
	Domain     abi.DomID // the guest
	Backend    abi.DomID // whose grants Map accepts; 0, domain 0
	ConsoleGFN uint64    // frames of the reserved entries; 0 leaves one invalid
	StoreGFN   uint64
}

// Table is one guest's grant table.
type Table struct {
	cfg Config

	mu     sync.Mutex
	frames int                // frames in use; grows only, until Reset
	pins   map[uint32]*active // by reference
	live   int                // mappings in use, those from before a Reset included
	late   map[uint32]bool    // references whose use bits are still to be taken back
}

// New returns a table of one frame with the reserved entries filled in.
func New(cfg Config) (*Table, error) {
	if cfg.MaxFrames == 0 {
		cfg.MaxFrames = abi.GrantDefaultMaxFrames
	}
	if cfg.Memory == nil {
		return nil, errors.New("gnttab: no memory for the table's frames")
	}
	if cfg.MaxFrames < 1 || cfg.MaxFrames > 1<<16 {
		return nil, fmt.Errorf("gnttab: %d frames: must be 1 to 65536", cfg.MaxFrames)
	}
	t := &Table{cfg: cfg, frames: abi.GrantTableInitialFrames, pins: map[uint32]*active{}, late: map[uint32]bool{}}
	if err := t.reserve(); err != nil {
		return nil, err
	}
	return t, nil
}

// entry returns where an entry is: its frame and the byte offset in it.
func entry(ref uint32) (frame int, off uint32) {
	return int(ref / abi.GrantEntriesV1PerFrame), ref % abi.GrantEntriesV1PerFrame * abi.GrantEntryV1Size
}

// reserve fills the entries that the toolstack sets up for every guest.
func (t *Table) reserve() error {
	for _, r := range []struct {
		ref uint32
		gfn uint64
	}{{abi.GrantReservedConsole, t.cfg.ConsoleGFN}, {abi.GrantReservedXenstore, t.cfg.StoreGFN}} {
		if r.gfn == 0 {
			continue
		}
		if r.gfn > 1<<32-1 {
			return fmt.Errorf("gnttab: reserved entry %d: frame %#x doesn't fit version 1", r.ref, r.gfn)
		}
		var e [abi.GrantEntryV1Size]byte
		encodeEntry(&e, abi.GTFPermitAccess, t.cfg.Backend, uint32(r.gfn))
		frame, off := entry(r.ref)
		if err := t.cfg.Memory.WriteAt(frame, e[:], off); err != nil {
			return fmt.Errorf("gnttab: reserved entry %d: %w", r.ref, err)
		}
	}
	return nil
}

// Reset makes the table as new: one frame, zeroed, reserved entries filled in.
// Mappings that backends still hold stay valid for them and keep their counts,
// but no longer concern the new table's entries.
func (t *Table) Reset() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.pins {
		a.orphan = true
	}
	t.pins = map[uint32]*active{}
	clear(t.late)
	var zero [abi.PageSize]byte
	for f := range t.frames {
		if err := t.cfg.Memory.WriteAt(f, zero[:], 0); err != nil {
			return fmt.Errorf("gnttab: reset frame %d: %w", f, err)
		}
	}
	t.frames = abi.GrantTableInitialFrames
	return t.reserve()
}
