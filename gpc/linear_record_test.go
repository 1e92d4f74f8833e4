// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// linearPorts are the ports of the histories: of one selector bit, and of one
// word, so that everything that can meet does.
var linearPorts = [abiPorts]uint32{64 + 3, 64 + 9}

const linearWord = 64 / 32 * 4 // offset of their word in the pending and mask bitmaps

// A subject is what is tested: the product's operations or wrong ones.
type subject struct {
	deliver, unmask, resume, raise func(r *Reader, s *Signal) Result
}

func product() subject {
	return subject{(*Reader).Deliver, (*Reader).Unmask, (*Reader).Resume, (*Reader).Raise}
}

// A linearBench is guest memory with one shared_info and one vcpu_info whose pages
// move while clients work.
type linearBench struct {
	mem     *guestMemory
	set     *Set
	shared  *Cache
	vcpu    *Cache
	signals [abiPorts]*Signal
	start   time.Time
	spare   [3]*hostPage // by gfn, to move to
	done    atomic.Int64 // calls of clients
}

func newLinearBench(t testing.TB, guard string) *linearBench {
	m := newGuestMemory(t, 1, 2)
	s, _ := newTestSet(t, m, guard)
	b := &linearBench{mem: m, set: s, start: time.Now(),
		shared: activated(t, s, "shared_info", 1*pageSize, pageSize),
		vcpu:   activated(t, s, "vcpu_info", 2*pageSize, 64)}
	for i, p := range linearPorts {
		b.signals[i] = portSignal(b.shared, b.vcpu, p)
	}
	for gfn := uint64(1); gfn <= 2; gfn++ {
		b.spare[gfn] = newHostPage()
	}
	t.Cleanup(func() {
		for gfn := uint64(1); gfn <= 2; gfn++ {
			b.spare[gfn].unmap()
		}
	})
	return b
}

// move gives a frame another page with the same content. The old page stays
// mapped: a stale access does no harm here but to the history.
func (b *linearBench) move(gfn uint64) {
	must(b.set.InvalidateStart(gfn*pageSize, pageSize, true))
	next := b.spare[gfn]
	copy(next.bytes, b.mem.page(gfn).bytes)
	b.spare[gfn] = b.mem.put(gfn, next)
	b.set.InvalidateEnd(gfn*pageSize, pageSize)
}

func (b *linearBench) clear() {
	for gfn := uint64(1); gfn <= 2; gfn++ {
		b.mem.page(gfn).zero()
	}
}

func (b *linearBench) now() int64 { return int64(time.Since(b.start)) }

// A client records what it does.
type client struct {
	*linearBench
	subject
	id      int
	r       *Reader
	history []porcupine.Operation
}

func (c *client) record(call int64, inputs ...any) {
	ret := c.now()
	c.done.Add(1)
	for _, in := range inputs {
		c.history = append(c.history, porcupine.Operation{ClientId: c.id, Input: in, Call: call, Return: ret})
	}
}

// linger waits until others have made n calls, or do not make any.
func (c *client) linger(n int) {
	until := c.done.Load() + int64(n)
	for range 50 {
		if c.done.Load() >= until {
			return
		}
		runtime.Gosched()
	}
}

// accesses records one call as its accesses.
func (c *client) accesses(call int64, list ...abiAccess) {
	inputs := make([]any, len(list))
	for i := range list {
		a := &list[i]
		a.client, a.step, a.last = c.id, uint8(i), i == len(list)-1
		inputs[i] = a
	}
	c.record(call, inputs...)
}

// access repeats an operation on a cache until it succeeds; only the time of
// the one that did counts.
func (c *client) access(cache *Cache, op func() bool) (call int64) {
	for {
		call = c.now()
		if op() {
			return call
		}
		if cache.Refresh() != nil {
			runtime.Gosched()
		}
	}
}

// raiseParts are the accesses by which a call that ended with res raised.
func raiseParts(res Result) []abiAccess {
	if res == StaleVCPU {
		return []abiAccess{{op: maybeSel, res: res}}
	}
	return []abiAccess{{op: setSel, res: res}, {op: setUpcall, res: res}}
}

// send delivers to a port until the event is in, and pays what it owes.
func (c *client) send(port uint8) {
	for res := Stale; res == Stale; _ = c.shared.Refresh() {
		call := c.now()
		res = c.deliver(c.r, c.signals[port])
		parts := []abiAccess{{op: setPending, port: port, was: bit(res == Coalesced), res: res}}
		switch res {
		case Stale:
			continue
		case Coalesced, StalePort:
		case Masked:
			parts = append(parts, abiAccess{op: testMask, port: port, was: 1, res: res})
		default:
			parts = append(append(parts, abiAccess{op: testMask, port: port, res: res}), raiseParts(res)...)
		}
		c.accesses(call, parts...)
		c.finish(port, res)
	}
}

// finish does what a call that ended with res owes.
func (c *client) finish(port uint8, res Result) {
	for {
		var op func(*Reader, *Signal) Result
		switch res {
		case StalePort:
			_ = c.shared.Refresh()
			op = c.resume
		case StaleVCPU:
			_ = c.vcpu.Refresh()
			op = c.raise
		default:
			return
		}
		resumed := res == StalePort
		call := c.now()
		res = op(c.r, c.signals[port])
		var parts []abiAccess
		switch {
		case res == StalePort:
		case !resumed && res == StaleVCPU:
			parts = raiseParts(res)
		case !resumed:
			parts = []abiAccess{{op: forceSel, res: res}, {op: setUpcall, res: res}}
		case res == NotPending:
			parts = []abiAccess{{op: testPending, port: port, res: res}}
		case res == Masked:
			parts = []abiAccess{{op: testPending, port: port, was: 1, res: res}, {op: testMask, port: port, was: 1, res: res}}
		default:
			parts = append([]abiAccess{{op: testPending, port: port, was: 1, res: res}, {op: testMask, port: port, res: res}}, raiseParts(res)...)
		}
		c.accesses(call, parts...)
	}
}

func (c *client) maskPort(port uint8) {
	sig := c.signals[port]
	var old uint32
	call := c.access(c.shared, func() (ok bool) { old, ok = c.r.Or32(c.shared, sig.Mask.Off, 1<<sig.Mask.Bit); return ok })
	c.accesses(call, abiAccess{op: setMask, port: port, was: uint8(old >> sig.Mask.Bit & 1)})
}

func (c *client) unmaskPort(port uint8) {
	for res := Stale; res == Stale; _ = c.shared.Refresh() {
		call := c.now()
		res = c.unmask(c.r, c.signals[port])
		parts := []abiAccess{{op: clearMask, port: port, res: res}}
		switch res {
		case Stale:
			continue
		case StalePort:
		case NotPending:
			parts = append(parts, abiAccess{op: testPending, port: port, res: res})
		default:
			parts = append(append(parts, abiAccess{op: testPending, port: port, was: 1, res: res}), raiseParts(res)...)
		}
		c.accesses(call, parts...)
		c.finish(port, res)
	}
}

// portBits picks the ports' bits out of their word.
func portBits(word uint32) (bits uint8) {
	for i, p := range linearPorts {
		bits |= uint8(word>>(p%32)&1) << i
	}
	return bits
}

// handleUpcall is the guest's upcall handler.
func (c *client) handleUpcall() {
	var byteWas uint8
	var word uint32
	call := c.access(c.vcpu, func() (ok bool) { byteWas, ok = c.r.Xchg8(c.vcpu, 0, 0); return ok })
	c.accesses(call, abiAccess{op: takeUpcall, was: byteWas})
	if byteWas == 0 {
		return
	}
	call = c.access(c.vcpu, func() (ok bool) { word, ok = c.r.Xchg32(c.vcpu, 8, 0); return ok })
	sel := uint8(word >> 1 & 1)
	c.accesses(call, abiAccess{op: takeSel, was: sel})
	if sel == 0 {
		return
	}
	call = c.access(c.shared, func() (ok bool) { word, ok = c.r.Load32(c.shared, 0xa00+linearWord); return ok })
	mask := portBits(word)
	c.accesses(call, abiAccess{op: loadMask, was: mask})
	c.takePorts(^mask & 3)
}

// takePorts takes the events of some ports.
func (c *client) takePorts(take uint8) {
	keep := ^uint32(0)
	for i, p := range linearPorts {
		keep &^= uint32(take>>i&1) << (p % 32)
	}
	var word uint32
	call := c.access(c.shared, func() (ok bool) { word, ok = c.r.And32(c.shared, 0x800+linearWord, keep); return ok })
	c.accesses(call, abiAccess{op: takePending, was: portBits(word), take: take})
}
