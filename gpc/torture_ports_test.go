// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"runtime"
	"sync/atomic"
)

// A rigPort is an event channel port and the account of its events.
type rigPort struct {
	number      uint32
	vcpu        int
	sig         *Signal
	sent, taken atomic.Int64
	busy        atomic.Bool // masked, or a raise is owed: its events cannot all have arrived
	masked      bool        // this and the next are of the reader that owns it
	owed        Result      // StalePort or StaleVCPU: the last step is to be finished
	_           [64]byte
}

// A rigVCPU is a virtual CPU whose part is played by whichever reader looks.
type rigVCPU struct {
	info            *Cache
	ports           [portWords]uint32 // its ports, by pending word: others are not its to take
	numbers         map[uint32]*rigPort
	raised, upcalls atomic.Int64
	_               [64]byte
}

// portWords are the pending words in use.
const portWords = 16

// allotPorts gives each reader four ports of its own, no two of which share a
// selector bit while there are few readers: an event whose selector bit got lost
// is then found by nobody. Ports use bits that are 0 in the poison, and so do
// the selector bits, so that an access to a retired page leaves a mark.
func (g *rig) allotPorts() {
	for _, v := range g.vcpus {
		v.numbers = map[uint32]*rigPort{}
	}
	marks := []uint32{0, 2, 5, 7} // bits that are 0 in each byte of the poison
	next := 0
	add := func(v int, number uint32) *rigPort {
		p := &rigPort{number: number, vcpu: v}
		p.sig = portSignal(g.shared, g.vcpus[v].info, p.number)
		if g.vcpus[v].numbers[p.number] != nil {
			panic("two ports of one number")
		}
		g.vcpus[v].numbers[p.number] = p
		g.vcpus[v].ports[p.number/32] |= 1 << (p.number % 32)
		return p
	}
	allot := func() *rigPort {
		// Which vCPU, then which selector bit, change fastest.
		v, group, nth := next%3, marks[next/3%4], uint32(next/12)
		next++
		return add(v, (group*2+nth%2)*32+marks[nth/2%4]+8*uint32(v))
	}
	g.solo = add(3, 14*32+24)
	for range g.run.Readers {
		own := []*rigPort{}
		for range 4 {
			own = append(own, allot())
		}
		g.own = append(g.own, own)
	}
	for i := range g.common {
		g.common[i] = allot()
	}
}

func (g *rig) ports() []*rigPort {
	all := append(g.common[:len(g.common):len(g.common)], g.solo)
	for _, own := range g.own {
		all = append(all[:len(all):len(all)], own...)
	}
	return all
}

// persist repeats op, which needs c, until it succeeds.
func persist(c *Cache, op func() bool) {
	for !op() {
		if c.Refresh() != nil {
			runtime.Gosched() // its memory is away, and comes back
		}
	}
}

// takeUpcall plays the vCPU: if the upcall is pending, it takes the selector and
// all events that are found with it, as a guest's upcall handler does.
func (g *rig) takeUpcall(r *Reader, v *rigVCPU) {
	old, ok := r.Xchg8(v.info, 0, 0)
	switch {
	case !ok:
		_ = v.info.Refresh()
		return
	case old == 0:
		return
	case old != 1:
		staleAccess("an upcall byte is %#x", old)
	}
	v.upcalls.Add(1)
	g.count(tUpcalls)
	var sel uint32
	persist(v.info, func() (ok bool) { sel, ok = r.Xchg32(v.info, 8, 0); return ok })
	for group := uint32(0); sel != 0; group, sel = group+1, sel>>1 {
		if sel&1 == 0 {
			continue
		}
		if group*2 >= portWords {
			staleAccess("a selector word has bit %d", group)
		}
		g.takeWord(r, v, group*2)
		g.takeWord(r, v, group*2+1)
	}
}

func (g *rig) takeWord(r *Reader, v *rigVCPU, word uint32) {
	var mask, old uint32
	persist(g.shared, func() (ok bool) { mask, ok = r.Load32(g.shared, 0xa00+4*word); return ok })
	take := v.ports[word] &^ mask
	persist(g.shared, func() (ok bool) { old, ok = r.And32(g.shared, 0x800+4*word, ^take); return ok })
	for bit, got := uint32(0), old&take; got != 0; bit, got = bit+1, got>>1 {
		if got&1 != 0 {
			v.numbers[word*32+bit].taken.Add(1)
		}
	}
}
