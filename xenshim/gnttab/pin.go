// SPDX-License-Identifier: Apache-2.0

package gnttab

import (
	"encoding/binary"
	"maps"
	"slices"

	"xenvmm/xenshim/abi"
)

// pinRetries is how often a pin is tried while the guest changes the entry; a
// correct guest changes it once at most (permit to readonly).
const pinRetries = 5

// clearRetries bounds the attempts to take the use bits back. Only a guest
// that keeps changing an entry in use can exhaust them, to its own loss.
const clearRetries = 64

// active is a pinned entry.
type active struct {
	ref     uint32
	frame   uint32 // as read at the first pin
	readers int    // all mappings
	writers int    // writable ones
	orphan  bool   // the table was reset: the entry isn't ours to change
}

// encodeEntry writes a version 1 entry.
func encodeEntry(e *[abi.GrantEntryV1Size]byte, flags uint16, dom abi.DomID, frame uint32) {
	binary.LittleEndian.PutUint16(e[abi.GrantEntryV1FlagsOffset:], flags)
	binary.LittleEndian.PutUint16(e[abi.GrantEntryV1DomIDOffset:], uint16(dom))
	binary.LittleEndian.PutUint32(e[abi.GrantEntryV1FrameOffset:], frame)
}

// pin marks an entry as used and returns it. Callers hold mu.
func (t *Table) pin(ref uint32, write bool) (*active, abi.GrantStatus) {
	if t.cfg.RAM == nil || uint64(ref) >= uint64(t.frames)*abi.GrantEntriesV1PerFrame {
		return nil, abi.GNTSTBadGntref
	}
	frame, off := entry(ref)
	a := t.pins[ref]
	if s := t.mark(frame, off, a != nil, write); s != abi.GNTSTOkay {
		return nil, s
	}
	if a == nil {
		gfn, err := t.cfg.Memory.Load32(frame, off+abi.GrantEntryV1FrameOffset)
		if err != nil {
			t.unmark(ref, true, true)
			return nil, abi.GNTSTGeneralError
		}
		if !t.cfg.RAM.Contains(uint64(gfn)<<abi.PageShift, abi.PageSize) {
			t.unmark(ref, true, true)
			return nil, abi.GNTSTBadPage
		}
		a = &active{ref: ref, frame: gfn}
		t.pins[ref] = a
	}
	a.readers++
	if write {
		a.writers++
	}
	t.live++
	return a, abi.GNTSTOkay
}

// mark sets the use bits with a compare-and-swap of the word that holds flags
// and domain, so that both are those that were checked. An entry that is
// pinned already was checked then; the guest's later changes to type and
// domain don't matter, but its readonly bit does.
func (t *Table) mark(frame int, off uint32, pinned, write bool) abi.GrantStatus {
	for range pinRetries {
		word, err := t.cfg.Memory.Load32(frame, off)
		if err != nil {
			return abi.GNTSTGeneralError
		}
		flags, dom := uint16(word), abi.DomID(word>>abi.GrantEntryV1DomIDShift)
		if !pinned && (flags&(abi.GTFTypeMask|abi.GTFSubPage) != abi.GTFPermitAccess || dom != t.cfg.Backend) {
			return abi.GNTSTGeneralError
		}
		set := uint32(abi.GTFReading)
		if write {
			if flags&abi.GTFReadonly != 0 {
				return abi.GNTSTGeneralError
			}
			set |= abi.GTFWriting
		}
		if word|set == word && pinned {
			return abi.GNTSTOkay
		}
		ok, err := t.cfg.Memory.CompareAndSwap32(frame, off, word, word|set)
		if err != nil {
			return abi.GNTSTGeneralError
		}
		if ok {
			return abi.GNTSTOkay
		}
	}
	return abi.GNTSTGeneralError // the guest doesn't leave the entry alone
}

// unmark takes use bits of an entry back. If its frame can't be reached they
// are taken back by Settle: an entry left marked could never be revoked.
func (t *Table) unmark(ref uint32, reading, writing bool) {
	frame, off := entry(ref)
	var bits uint32
	if reading {
		bits |= abi.GTFReading
	}
	if writing {
		bits |= abi.GTFWriting
	}
	for range clearRetries {
		word, err := t.cfg.Memory.Load32(frame, off)
		if err == nil && word&bits == 0 {
			return
		}
		ok := false
		if err == nil {
			ok, err = t.cfg.Memory.CompareAndSwap32(frame, off, word, word&^bits)
		}
		switch {
		case err != nil:
			t.late[ref] = true
			return
		case ok:
			return
		}
	}
}

// Settle takes back the use bits that could not be taken back when their
// mapping was given up. It is called when a frame of the table may be reachable
// again.
func (t *Table) Settle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	refs := slices.Collect(maps.Keys(t.late))
	clear(t.late)
	for _, ref := range refs {
		a := t.pins[ref] // it may have been mapped again
		t.unmark(ref, a == nil, a == nil || a.writers == 0)
	}
}

// unpin undoes one pin. Callers hold mu.
func (t *Table) unpin(a *active, write bool) {
	t.live--
	a.readers--
	if write {
		a.writers--
	}
	if a.readers == 0 && !a.orphan {
		delete(t.pins, a.ref)
	}
	if !a.orphan {
		t.unmark(a.ref, a.readers == 0, a.writers == 0)
	}
}
