// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"fmt"
	"strings"
	"testing"

	"xenvmm/xenshim/abi"
	"xenvmm/xenshim/internal/sharedpage"
)

// connectFlaky connects the guest through a page that is away now and then, and
// comes back with a kick.
func (g *guest) connectFlaky(seed int64, oneIn int) *sharedpage.Flaky {
	ready := make(chan struct{}) // the ring exists
	f := sharedpage.NewFlaky(&g.page, seed, oneIn, func() { <-ready; g.r.Kick() })
	g.r = NewRing(g.s, f, func() {
		g.events.Add(1)
		select {
		case g.irq <- struct{}{}:
		default:
		}
	})
	close(ready)
	return f
}

// Whatever access finds the page away, everything is answered, once and in
// order, and the guest is told of it.
func TestNothingIsLostWhileThePageIsAway(t *testing.T) {
	long := strings.Repeat("x", 3000) // three rings full, in pieces
	missed := 0
	for seed := range int64(60) {
		g := &guest{t: t, s: newStore(t, Quotas{}), irq: make(chan struct{}, 1)}
		f := g.connectFlaky(seed, 2+int(seed)%7)
		for i := range 5 {
			key := nul(fmt.Sprintf("data/%d", i))
			if got := g.call(abi.XSWrite, key+long[:100*i]); got != ok {
				t.Fatalf("seed %d: write: %q", seed, got)
			}
			if got := g.call(abi.XSRead, key); got != long[:100*i] {
				t.Fatalf("seed %d: read %d bytes", seed, len(got))
			}
		}
		if got := g.call(abi.XSWrite, nul("data/long")+long[:2000]); got != ok {
			t.Fatalf("seed %d: long write: %q", seed, got)
		}
		// Several requests at once: their replies don't fit in the ring together.
		for id := range uint32(5) {
			g.send(message(abi.XSRead, id, 0, nul("data/long")))
		}
		for id := range uint32(5) {
			if h, p := g.message(); h.typ != abi.XSRead || h.reqID != id || p != long[:2000] {
				t.Fatalf("seed %d: reply %+v with %d bytes, want that to %d", seed, h, len(p), id)
			}
		}
		if e := g.load(abi.XenstoreError); e != abi.XenstoreErrorNone {
			t.Fatalf("seed %d: the connection ended with error %d", seed, e)
		}
		g.r.Close()
		missed += f.Missed()
	}
	if missed < 1000 {
		t.Fatalf("the page was away %d times only", missed)
	}
}

// The error that ends a connection, and the new connection that the guest asks
// for, get to the guest though the page is away at first.
func TestErrorsAndReconnectsReachAPageThatWasAway(t *testing.T) {
	for seed := range int64(40) {
		g := &guest{t: t, s: newStore(t, Quotas{}), irq: make(chan struct{}, 1)}
		f := g.connectFlaky(seed, 2)
		g.call(abi.XSRead, nul("data"))
		g.store(abi.XenstoreReqProd, g.load(abi.XenstoreReqCons)+1025)
		g.r.Kick()
		for g.load(abi.XenstoreError) != abi.XenstoreErrorRingIndex {
			<-g.irq
		}
		g.reconnect()
		if got := g.call(abi.XSGetDomainPath, nul("1")); got != nul("/local/domain/1") {
			t.Fatalf("seed %d: %q", seed, got)
		}
		g.r.Close()
		f.Missed()
	}
}
