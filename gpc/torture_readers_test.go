// SPDX-License-Identifier: Apache-2.0

package gpc

import (
	"bytes"
	"math/rand/v2"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// reader is a standing reader: it sends events, plays the vCPUs, keeps data of
// its own in guest memory, and uses caches that move.
func (g *rig) reader(i int) {
	rnd := g.rand(100 + uint64(i))
	read := func(r *Reader) { g.read(i, r, rnd) }
	switch i % 4 {
	case 3: // of a goroutine that goes from thread to thread
		r := g.set.NewReader()
		defer r.Close()
		read(r)
	case 1: // that has to be waited for, on a thread that can be held up
		g.onThread(readerKind{plain: true}, read)
	default:
		g.onThread(readerKind{low: i%4 == 0 && i > 0}, read)
	}
}

// readerKind says what onThread makes.
type readerKind struct {
	plain bool // of NewReader, on a thread of its own all the same
	low   bool // of the lowest priority
}

// onThread runs f with a reader of a thread that is made for it and ends with it.
func (g *rig) onThread(kind readerKind, f func(r *Reader)) {
	done := background(func() {
		runtime.LockOSThread() // and never unlocks: the thread ends here
		if unix.Gettid() == os.Getpid() {
			g.onThread(kind, f) // the process's first thread cannot be stopped by itself
			return
		}
		if kind.low {
			g.lowerPriority()
		}
		var r *Reader
		if kind.plain {
			r = g.set.NewReader()
		} else {
			r = g.set.NewThreadReader()
		}
		defer r.Close()
		before := r.slot.Restarts() // a slot keeps its counts
		defer func() { g.tallySheet[tRestarts].Add(int64(r.slot.Restarts() - before)) }()
		defer g.threads.add(r, kind)()
		f(r)
	})
	<-done
}

func (g *rig) read(i int, r *Reader, rnd *rand.Rand) {
	own := &ownData{at: uint32(64 * (1 + i)), bytes: make([]byte, 40)}
	var owes [len(g.common)]Result
	for n := 0; !g.settled.Load(); n++ {
		g.event(r, g.own[i][n%4], rnd)
		g.commonEvent(r, n%len(g.common), &owes[n%len(g.common)])
		g.takeUpcall(r, g.vcpus[n%len(g.vcpus)])
		g.keepData(r, own, rnd)
		g.look(r)
		if i == 0 {
			for range 25 { // back and forth, without a rest
				g.event(r, g.solo, rnd)
				g.takeUpcall(r, g.vcpus[g.solo.vcpu])
			}
		} else {
			g.hammer(r)
		}
		if n%2048 == 0 || g.settling.Load() {
			runtime.Gosched()
		}
	}
}

// event takes a port of the reader's own one step further: sends on it when
// the last event has arrived, and now and then sooner; masks and unmasks it.
func (g *rig) event(r *Reader, p *rigPort, rnd *rand.Rand) {
	idle := p.sent.Load() == p.taken.Load()
	choice := rnd.IntN(64)
	switch {
	case p.owed == StalePort:
		g.outcome(p, r.Resume(p.sig), false)
	case p.owed == StaleVCPU:
		g.outcome(p, r.Raise(p.sig), false)
	case p.masked && (choice < 8 || g.settling.Load()):
		switch res := r.Unmask(p.sig); res {
		case Stale:
			_ = g.shared.Refresh()
		default:
			p.masked = false
			g.outcome(p, res, false)
		}
	case g.settling.Load():
	case choice == 0 && !p.masked:
		if _, ok := r.Or32(g.shared, p.sig.Mask.Off, 1<<p.sig.Mask.Bit); ok {
			p.masked = true
			p.busy.Store(true)
		}
	case idle || choice < 4:
		res := r.Deliver(p.sig)
		if res == Coalesced && idle {
			fatal("port %d: coalesced, and nothing was pending", p.number)
		}
		g.outcome(p, res, true)
	}
}

// outcome keeps the account of a port after a step on it.
func (g *rig) outcome(p *rigPort, res Result, deliver bool) {
	switch res {
	case Stale:
		g.await(p, res)
		return
	case Coalesced:
		g.count(tCoalesced)
		return
	case Masked:
		g.count(tMasked)
		if !p.masked {
			fatal("port %d: masked by nobody", p.number)
		}
	case Raised:
		g.vcpus[p.vcpu].raised.Add(1)
	}
	if deliver {
		p.sent.Add(1)
		g.count(tAccepted)
	}
	p.owed = Stale
	if res == StalePort || res == StaleVCPU {
		p.owed = res
	}
	p.busy.Store(p.masked || p.owed != Stale)
	g.await(p, res)
}

// await blocks on the refresh of what was found stale, as readers have to.
func (g *rig) await(p *rigPort, res Result) {
	switch res {
	case Stale:
		_ = g.shared.Refresh()
	case StalePort:
		g.count(tHalfway)
		_ = g.shared.Refresh()
	case StaleVCPU:
		g.count(tOwed)
		_ = g.vcpus[p.vcpu].info.Refresh()
	}
}

// commonEvent sends on a port that every reader sends on.
func (g *rig) commonEvent(r *Reader, i int, owed *Result) {
	p := g.common[i]
	var res Result
	switch {
	case *owed == StalePort:
		res = r.Resume(p.sig)
	case *owed == StaleVCPU:
		res = r.Raise(p.sig)
	case g.settling.Load():
		return
	default:
		if res = r.Deliver(p.sig); res != Stale && res != Coalesced {
			p.sent.Add(1)
			g.count(tAccepted)
		}
	}
	switch res {
	case Raised:
		g.vcpus[p.vcpu].raised.Add(1)
	case Coalesced:
		g.count(tCoalesced)
	}
	if *owed = Stale; res == StalePort || res == StaleVCPU {
		*owed = res
	}
	g.await(p, res)
}

// hammer does nothing but enter sections for a while, so that what interrupts the
// thread mostly finds it inside one.
func (g *rig) hammer(r *Reader) {
	for range 25 {
		r.Or32(g.juggled[0], 0x840, 1)
		r.Xchg8(g.juggled[1], 16, 1)
		if v, ok := r.Load32(g.shared, stampInPage); ok && v != stamp(frameShared) {
			staleAccess("shared_info reads as %#x", v)
		}
		r.And32(g.juggled[0], 0x840, 0)
	}
}

// ownData is what one reader keeps in the guest's memory, and a copy.
type ownData struct {
	at    uint32
	word  uint32
	bytes []byte
	buf   [40]byte
}

// keepData changes the reader's data and checks that it still is what it was
// made, however often its page has moved: a write that was reported is there,
// and one that was refused is not.
func (g *rig) keepData(r *Reader, d *ownData, rnd *rand.Rand) {
	v := rnd.Uint32() >> 1
	was, want := d.word, d.word
	got, ok := uint32(0), false
	switch rnd.IntN(6) {
	case 0:
		got, ok = r.Xchg32(g.data, d.at, v)
		want = v
	case 1:
		got, ok = r.Or32(g.data, d.at, v)
		want = was | v
	case 2:
		got, ok = r.And32(g.data, d.at, v)
		want = was & v
	case 3:
		got, ok = r.CAS32(g.data, d.at, was, v)
		want = v
	case 4:
		got, ok = r.Load32(g.data, d.at)
	case 5:
		// A copy that fails may have been made in part, so it is made again.
		d.bytes = bytes.Repeat([]byte{byte(v)}, len(d.bytes))
		persist(g.data, func() bool { return r.WriteAt(g.data, d.bytes, d.at+16) })
		g.count(tWrites)
		if r.ReadAt(g.data, d.buf[:], d.at+16) && !bytes.Equal(d.buf[:], d.bytes) {
			staleAccess("bytes at %#x are %x, not %x", d.at+16, d.buf, d.bytes)
		}
		return
	}
	if !ok {
		_ = g.data.Refresh()
		return
	}
	if got != was {
		staleAccess("the word at %#x is %#x, not %#x", d.at, got, was)
	}
	d.word = want
	g.count(tWrites)
}

// look reads stamps through the caches: each must be that of its frame.
func (g *rig) look(r *Reader) {
	if v, ok := r.Load32(g.shared, stampInPage); ok && v != stamp(frameShared) {
		staleAccess("shared_info reads as %#x", v)
	}
	if v, ok := r.Load32(g.vcpus[2].info, stampInVCPU); ok && v != stamp(frameVCPU) {
		staleAccess("vcpu_info 2 reads as %#x", v)
	}
	switch r.Deliver(g.juggledSignal) {
	case Stale, StalePort: // nobody waits for these events
		_ = g.juggled[0].Refresh()
	case StaleVCPU:
		_ = g.juggled[1].Refresh()
		r.Raise(g.juggledSignal)
	}
	r.And32(g.juggled[0], 0x800, 0)
	r.And32(g.juggled[1], 8, 0)
	if v, ok := r.Load32(g.juggled[1], stampInVCPU); ok && v != stamp(frameJuggle) && v != stamp(frameJuggle+1) && v != stamp(framePlain) {
		staleAccess("a juggled vcpu_info reads as %#x", v)
	}
}
