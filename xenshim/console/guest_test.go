// SPDX-License-Identifier: Apache-2.0

package console

import (
	"sync/atomic"
	"testing"

	"xenvmm/xenshim/abi"
	"xenvmm/xenshim/internal/sharedpage"
)

// guest is the frontend's side: hvc_xen in a few lines.
type guest struct {
	t      testing.TB
	page   sharedpage.Page
	c      *Console
	events atomic.Int64
	irq    chan struct{}
}

func newGuest(t testing.TB) *guest { return &guest{t: t, irq: make(chan struct{}, 1)} }

// notify is what the backend calls; it is the event channel.
func (g *guest) notify() {
	g.events.Add(1)
	poke(g.irq)
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

// put writes what fits of p into the out ring and returns how much that was.
func (g *guest) put(p []byte) int {
	cons, prod := g.load(abi.ConsoleOutCons), g.load(abi.ConsoleOutProd)
	n := min(uint32(len(p)), abi.ConsoleOutSize-(prod-cons))
	if err := outRing.write(&g.page, p[:n], prod); err != nil {
		g.t.Error(err)
	}
	g.store(abi.ConsoleOutProd, prod+n)
	return int(n)
}

// get takes up to max bytes from the in ring.
func (g *guest) get(max int) []byte {
	cons, prod := g.load(abi.ConsoleInCons), g.load(abi.ConsoleInProd)
	p := make([]byte, min(uint32(max), prod-cons))
	if err := inRing.read(&g.page, p, cons); err != nil {
		g.t.Error(err)
	}
	g.store(abi.ConsoleInCons, cons+uint32(len(p)))
	return p
}

// writeAll prints p, waiting for room.
func (g *guest) writeAll(p []byte) {
	for len(p) > 0 {
		n := g.put(p)
		p = p[n:]
		g.c.Kick()
		if n == 0 {
			<-g.irq
		}
	}
}

// readAll reads n bytes in pieces of at most max, waiting for events.
func (g *guest) readAll(n, max int) []byte {
	var got []byte
	for len(got) < n {
		p := g.get(max)
		got = append(got, p...)
		g.c.Kick()
		if len(p) == 0 {
			<-g.irq
		}
	}
	return got
}
