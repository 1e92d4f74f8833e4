// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"encoding/binary"
	"sync/atomic"
	"testing"

	"xenvmm/xenshim/abi"
	"xenvmm/xenshim/internal/sharedpage"
)

// guest is the other side of a ring: what a kernel's xenbus driver does.
type guest struct {
	t      testing.TB
	page   sharedpage.Page
	s      *Store
	r      *Ring
	events atomic.Int64
	irq    chan struct{}
}

func newGuest(t testing.TB, q Quotas) *guest {
	g := &guest{t: t, s: newStore(t, q), irq: make(chan struct{}, 1)}
	g.connect()
	return g
}

func (g *guest) connect() {
	g.r = NewRing(g.s, &g.page, func() {
		g.events.Add(1)
		select {
		case g.irq <- struct{}{}:
		default:
		}
	})
}

func (g *guest) load(off uint32) uint32 {
	v, err := g.page.Load32(off)
	if err != nil {
		g.t.Error(err)
	}
	return v
}

func (g *guest) store(off, v uint32) {
	if err := g.page.Store32(off, v); err != nil {
		g.t.Error(err)
	}
}

// put writes what fits of p into the request ring and returns how much.
func (g *guest) put(p []byte) int {
	cons, prod := g.load(abi.XenstoreReqCons), g.load(abi.XenstoreReqProd)
	n := min(uint32(len(p)), ringSize-(prod-cons))
	for i := range n {
		if err := g.page.WriteAt(p[i:i+1], abi.XenstoreReq+(prod+i)%ringSize); err != nil {
			g.t.Error(err)
		}
	}
	g.store(abi.XenstoreReqProd, prod+n)
	return int(n)
}

// get takes at most max bytes of replies. The bool says whether the ring was
// full, when the server waits for a signal.
func (g *guest) get(max int) ([]byte, bool) {
	cons, prod := g.load(abi.XenstoreRspCons), g.load(abi.XenstoreRspProd)
	p := make([]byte, min(uint32(max), prod-cons))
	for i := range p {
		if err := g.page.ReadAt(p[i:i+1], abi.XenstoreRsp+(cons+uint32(i))%ringSize); err != nil {
			g.t.Error(err)
		}
	}
	g.store(abi.XenstoreRspCons, cons+uint32(len(p)))
	return p, g.load(abi.XenstoreRspProd)-cons >= ringSize
}

// send writes p, waiting for room.
func (g *guest) send(p []byte) {
	for len(p) > 0 {
		n := g.put(p)
		p = p[n:]
		g.r.Kick()
		if n == 0 {
			<-g.irq
		}
	}
}

// receive reads n bytes, waiting for them.
func (g *guest) receive(n int) []byte {
	var got []byte
	for len(got) < n {
		p, full := g.get(n - len(got))
		got = append(got, p...)
		if full {
			g.r.Kick()
		}
		if len(p) == 0 {
			<-g.irq
		}
	}
	return got
}

// message receives one message.
func (g *guest) message() (header, string) {
	h := decodeHeader(g.receive(abi.XSHeaderSize))
	if h.size > abi.XenstorePayloadMax {
		g.t.Fatalf("message of %d bytes", h.size)
	}
	return h, string(g.receive(int(h.size)))
}

func message(typ, id, tx uint32, payload string) []byte {
	b := make([]byte, 0, abi.XSHeaderSize+len(payload))
	for _, v := range []uint32{typ, id, tx, uint32(len(payload))} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return append(b, payload...)
}

// call sends a request and returns its reply; events before it are dropped.
func (g *guest) call(typ uint32, payload string) string {
	g.send(message(typ, 77, 0, payload))
	for {
		h, p := g.message()
		if h.typ == abi.XSWatchEvent {
			continue
		}
		if h.reqID != 77 {
			g.t.Fatalf("reply %+v", h)
		}
		if h.typ == abi.XSError {
			return "!" + p
		}
		return p
	}
}

// settle returns once the server has looked at the ring again.
func (g *guest) settle() {
	for range 3 { // slot free, first being served, first served
		g.r.kick <- struct{}{}
	}
}
