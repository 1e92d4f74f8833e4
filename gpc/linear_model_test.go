// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// The sequential model that histories are checked against: what the two-level
// event channel ABI says each access does, one at a time. It has no caches,
// mappings or guards, so page moves and refreshes must not show in it at all.
//
// Delivering and unmasking are not atomic and need not be: they are a few locked
// accesses with a fixed order (Xen's public/event_channel.h and every guest's
// upcall handler rely on that order alone). So each call is recorded as its
// accesses, all with the interval of the call, and the model makes the accesses
// of one client follow one another.

const (
	abiPorts   = 2 // of one selector bit
	abiClients = 6
)

type abiOp int

const (
	setPending  abiOp = iota // locked, of Deliver
	testMask                 // of Deliver and Resume
	clearMask                // locked, of Unmask
	testPending              // of Unmask and Resume
	setSel                   // locked, of all these
	forceSel                 // of Raise, which sets the upcall however it finds the selector
	maybeSel                 // of what ends with StaleVCPU: it got as far as that, or not
	setUpcall                // locked, after setSel
	takeUpcall               // of the guest's upcall handler, in the order of these
	takeSel
	loadMask
	takePending
	setMask // of a guest that masks a port
	inspect // everything, when nothing is under way
)

// An abiAccess is one access as the client sees it. was is what it found: a bit,
// or the ports' bits.
type abiAccess struct {
	op     abiOp
	client int
	step   uint8 // position in its call
	last   bool  // ends its call
	port   uint8
	take   uint8  // of takePending: the ports taken
	was    uint8  // what was found; unused where the result does not tell
	res    Result // that of the whole call
}

// abiState is the words of the ABI, and how far the call of each client is.
type abiState struct {
	pending, mask uint8
	sel, upcall   bool
	step          [abiClients]uint8
	skip          [abiClients]bool // the rest of the call changes nothing
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// apply returns the state after the access, and whether the access could have
// found what it found.
func (s abiState) apply(a *abiAccess) (next abiState, ok bool) {
	if a.op != inspect {
		if s.step[a.client] != a.step {
			return s, false
		}
		if s.step[a.client]++; a.last {
			s.step[a.client] = 0
		}
	}
	skip := &s.skip[a.client]
	port := uint8(1) << a.port
	switch a.op {
	case setPending:
		ok = bit(s.pending&port != 0) == a.was
		s.pending |= port
	case testMask:
		ok = bit(s.mask&port != 0) == a.was
	case clearMask: // NotPending does not tell whether the port was masked
		*skip = a.res == NotPending && s.mask&port == 0
		ok = a.res == NotPending || s.mask&port != 0
		s.mask &^= port
	case testPending:
		ok = *skip || bit(s.pending&port != 0) == a.was
	case setSel: // Pending does not tell whether the selector or the upcall was found set
		*skip = a.res == Pending && s.sel
		ok = a.res == Pending || !s.sel
		s.sel = true
	case forceSel:
		ok = true
		s.sel = true
	case setUpcall:
		ok = *skip || s.upcall == (a.res == Pending)
		s.upcall = s.upcall || !*skip
	case takeUpcall:
		ok = bit(s.upcall) == a.was
		s.upcall = false
	case takeSel:
		ok = bit(s.sel) == a.was
		s.sel = false
	case loadMask:
		ok = s.mask == a.was
	case takePending:
		ok = s.pending == a.was
		s.pending &^= a.take
	case setMask:
		ok = bit(s.mask&port != 0) == a.was
		s.mask |= port
	case inspect:
		ok = a.was == s.pending && a.take == s.mask && a.port == bit(s.sel)|bit(s.upcall)<<1
		// And nothing waits that no upcall will be made for.
		ok = ok && (s.pending&^s.mask == 0 || s.sel) && (!s.sel || s.upcall)
	}
	if a.last {
		*skip = false
	}
	return s, ok
}

// successors are the states that the access can lead to.
func (s abiState) successors(a *abiAccess) (next []any) {
	if a.op == maybeSel {
		b := *a
		b.op = forceSel
		if with, ok := s.apply(&b); ok {
			without := with
			without.sel = s.sel
			return []any{with, without}
		}
		return nil
	}
	if one, ok := s.apply(a); ok {
		return []any{one}
	}
	return nil
}

// abiModel checks a history of abiAccess inputs; outputs are not used.
func abiModel() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init:              func() []any { return []any{abiState{}} },
		Step:              func(state, input, _ any) []any { return state.(abiState).successors(input.(*abiAccess)) },
		DescribeOperation: func(input, _ any) string { return input.(*abiAccess).String() },
	}
	return m.ToModel()
}

var abiOpNames = [...]string{"setPending", "testMask", "clearMask", "testPending", "setSel", "forceSel", "maybeSel", "setUpcall",
	"takeUpcall", "takeSel", "loadMask", "takePending", "setMask", "inspect"}

func (a *abiAccess) String() string {
	return fmt.Sprintf("%s port %d, found %d, took %d (step %d: %v)", abiOpNames[a.op], a.port, a.was, a.take, a.step, a.res)
}

// A portUse is one event sent to a port, or one look at it that takes it.
type portUse struct {
	port uint32
	take bool
	was  bool // the bit was set
}

// portModel is the promise in its simplest form, port by port: an event is
// accepted exactly if none was pending, and seen exactly once. It is cheap, so
// histories may be long.
func portModel() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			ports := map[uint32][]porcupine.Operation{}
			for _, op := range history {
				p := op.Input.(portUse).port
				ports[p] = append(ports[p], op)
			}
			var parts [][]porcupine.Operation
			for _, part := range ports {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() any { return false },
		Step: func(state, input, _ any) (bool, any) {
			use := input.(portUse)
			return use.was == state.(bool), !use.take
		},
	}
}
