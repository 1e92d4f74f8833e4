// SPDX-License-Identifier: Apache-2.0

package evtchn

import (
	"sync"
	"sync/atomic"

	"xenvmm/gpc"
	"xenvmm/xenshim/abi"
)

// guest simulates the event code of a 64-bit Linux: a thread per vCPU that
// handles upcalls, and moves of ports between vCPUs.
type guest struct {
	*rig
	intr  []chan struct{}
	where []place        // of each vcpu_info
	ports []*guestPort   // by index
	cpu   []atomic.Int32 // who handles each port, by number: the per-CPU mask
	by    map[uint32]*guestPort
	quit  chan struct{}
	done  sync.WaitGroup
}

// place is a page and an offset, packed so that it changes at once.
type place struct{ atomic.Uint64 }

func (p *place) set(page int, off uint32) { p.Store(uint64(page)<<32 | uint64(off)) }
func (p *place) get() (page int, off uint32) {
	v := p.Load()
	return int(v >> 32), uint32(v)
}

// guestPort counts what goes through a port. A sender adds to sent before it
// sends; the guest notes sent after it has cleared pending. So at the end, when
// all is quiet, seen lags behind sent only if an event was lost.
type guestPort struct {
	port  uint32
	host  *HostPort // nil: an IPI
	sent  atomic.Uint64
	seen  atomic.Uint64
	taken atomic.Uint64
}

func newGuest(g *rig) *guest {
	n := len(g.vcpus)
	u := &guest{rig: g, intr: make([]chan struct{}, n), where: make([]place, n),
		cpu: make([]atomic.Int32, maxPorts), by: map[uint32]*guestPort{}, quit: make(chan struct{})}
	for v := range n {
		u.intr[v] = make(chan struct{}, 1)
		u.where[v].set(sharedPg, uint32(v)*64)
	}
	g.onUp = func(vcpu int) {
		select {
		case u.intr[vcpu] <- struct{}{}:
		default:
		}
	}
	return u
}

func (u *guest) add(port uint32, h *HostPort, cpu int) *guestPort {
	p := &guestPort{port: port, host: h}
	u.ports = append(u.ports, p)
	u.by[port] = p
	u.cpu[port].Store(int32(cpu))
	return p
}

func (u *guest) start() {
	for v := range u.intr {
		u.done.Go(func() {
			for {
				select {
				case <-u.intr[v]:
					u.handle(v)
				case <-u.quit:
					select {
					case <-u.intr[v]:
						u.handle(v)
					default:
					}
					return
				}
			}
		})
	}
}

// stop lets the vCPUs handle what they were told, and ends them.
func (u *guest) stop() {
	close(u.quit)
	u.done.Wait()
}

// handle is the upcall handler of vCPU v.
func (u *guest) handle(v int) {
	for {
		page, off := u.where[v].get()
		if !u.mem.andBit(page, off, 0) { // evtchn_upcall_pending
			return
		}
		for half := range uint32(2) {
			sel := u.mem.word(page, off+8+half*4).Swap(0)
			for w := range uint32(32) {
				if sel>>w&1 != 0 {
					u.scan(v, half*32+w)
				}
			}
		}
	}
}

// scan takes the events of vCPU v in one word of the bitmaps.
func (u *guest) scan(v int, word uint32) {
	l := abi.Layout(abi.Width64)
	for port := word * 64; port < word*64+64; port++ {
		if u.mem.bit(sharedPg, l.EvtchnPending, port) && !u.mem.bit(sharedPg, l.EvtchnMask, port) && int(u.cpu[port].Load()) == v {
			u.take(port)
		}
	}
}

func (u *guest) take(port uint32) {
	if u.mem.andBit(sharedPg, abi.Layout(abi.Width64).EvtchnPending, port) {
		if p := u.by[port]; p != nil {
			p.taken.Add(1)
			p.seen.Store(p.sent.Load())
		}
	}
}

// send sends on port p as whoever its sender is.
func (u *guest) send(r *gpc.Reader, p *guestPort) {
	p.sent.Add(1)
	if p.host != nil {
		p.host.Notify(r)
	} else {
		u.Send(r, p.port)
	}
}

// rebind moves port p to vCPU v the way Linux does.
func (u *guest) rebind(r *gpc.Reader, p *guestPort, v int) {
	masked := u.mem.orBit(sharedPg, abi.Layout(abi.Width64).EvtchnMask, p.port)
	if u.BindVCPU(p.port, uint32(v)) == abi.OK {
		u.cpu[p.port].Store(int32(v))
	}
	if !masked {
		u.Unmask(r, v, p.port)
	}
}

// delivered is how often p went from not pending to pending.
func (u *guest) delivered(p *guestPort) uint64 {
	if p.host != nil {
		d, _, _ := p.host.Stats()
		return d
	}
	return u.slots[p.port].count.delivered.Load()
}
