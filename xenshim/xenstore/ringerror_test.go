// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"math/rand"
	"sync"
	"testing"

	"xenvmm/xenshim/abi"
)

// reconnect asks for a new connection and waits for it.
func (g *guest) reconnect() {
	g.store(abi.XenstoreConnection, abi.XenstoreReconnect)
	g.r.Kick()
	for g.load(abi.XenstoreConnection) != abi.XenstoreConnected {
		<-g.irq
	}
	for _, off := range []uint32{abi.XenstoreReqCons, abi.XenstoreReqProd, abi.XenstoreRspCons, abi.XenstoreRspProd, abi.XenstoreError} {
		if v := g.load(off); v != 0 {
			g.t.Errorf("word %#x is %#x after reconnect", off, v)
		}
	}
}

func TestRingErrors(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(g *guest)
		want uint32
	}{
		"request producer ahead":  {func(g *guest) { g.store(abi.XenstoreReqProd, g.load(abi.XenstoreReqCons)+1025) }, abi.XenstoreErrorRingIndex},
		"request producer behind": {func(g *guest) { g.store(abi.XenstoreReqProd, g.load(abi.XenstoreReqCons)-1) }, abi.XenstoreErrorRingIndex},
		"response consumer ahead": {func(g *guest) {
			g.store(abi.XenstoreRspCons, g.load(abi.XenstoreRspProd)+1)
			g.put(message(abi.XSRead, 1, 0, nul("data")))
		}, abi.XenstoreErrorRingIndex},
		"response consumer behind": {func(g *guest) {
			g.store(abi.XenstoreRspCons, g.load(abi.XenstoreRspProd)-1025)
			g.put(message(abi.XSRead, 1, 0, nul("data")))
		}, abi.XenstoreErrorRingIndex},
		"payload too long": {func(g *guest) {
			m := message(abi.XSRead, 1, 0, "")
			m[12], m[13] = 0x01, 0x10 // 4097
			g.put(m)
		}, abi.XenstoreErrorProtocol},
		"payload length of all ones": {func(g *guest) {
			m := message(abi.XSRead, 1, 0, "")
			m[12], m[13], m[14], m[15] = 0xff, 0xff, 0xff, 0xff
			g.put(m)
		}, abi.XenstoreErrorProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuest(t, Quotas{})
			defer g.r.Close()
			if got := g.call(abi.XSWatch, nul("data", "t")); got != ok {
				t.Fatal(got)
			}
			g.message()
			g.call(abi.XSTransactionStart, nul(""))
			c.do(g)
			g.r.Kick()
			for g.load(abi.XenstoreError) == abi.XenstoreErrorNone {
				<-g.irq
			}
			if e := g.load(abi.XenstoreError); e != c.want {
				t.Errorf("error %d, want %d", e, c.want)
			}
			if len(g.r.conn.watches)+len(g.r.conn.open) != 0 {
				t.Error("watches or transactions of a dead connection")
			}
			// Nothing is served until the guest reconnects.
			events := g.events.Load()
			g.store(abi.XenstoreReqProd, g.load(abi.XenstoreReqCons))
			g.put(message(abi.XSRead, 1, 0, nul("data")))
			g.settle()
			if g.events.Load() != events {
				t.Error("a dead connection signals")
			}
			g.reconnect()
			if got := g.call(abi.XSWatch, nul("data", "t")); got != ok {
				t.Errorf("after reconnect: %q", got)
			}
		})
	}
}

func TestReconnectDropsPartialMessages(t *testing.T) {
	g := newGuest(t, Quotas{})
	defer g.r.Close()
	half := message(abi.XSWrite, 1, 0, nul("data/x")+"value")
	g.send(half[:20])
	g.settle()
	g.reconnect()
	if got := g.call(abi.XSRead, nul("data/x")); got != "!ENOENT\x00" {
		t.Errorf("%q", got)
	}
	// Replies that wait are dropped too, whole and partly sent.
	if err := g.s.Write("/local/domain/1/name", string(make([]byte, 4000))); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		g.send(message(abi.XSRead, 9, 0, nul("name")))
	}
	g.settle()
	g.reconnect()
	if got := g.call(abi.XSRead, nul("data/x")); got != "!ENOENT\x00" {
		t.Errorf("%q", got)
	}
}

func TestUnknownConnectionStatesAreIgnored(t *testing.T) {
	g := newGuest(t, Quotas{})
	defer g.r.Close()
	for _, v := range []uint32{2, 1 << 31, 1<<32 - 1} {
		g.store(abi.XenstoreConnection, v)
		if got := g.call(abi.XSRead, nul("data")); got != "" {
			t.Errorf("%q", got)
		}
	}
}

func TestPageThatIsGone(t *testing.T) {
	g := &guest{t: t, s: newStore(t, Quotas{}), irq: make(chan struct{}, 1)}
	g.page.Unmap()
	g.connect()
	g.settle()
	if err := g.s.Write("/local/domain/1/data", "x"); err != nil {
		t.Error(err)
	}
	g.r.Close()

	g = newGuest(t, Quotas{})
	g.page.Unmap()
	g.settle()
	g.r.Close()
}

// The guest moves all words of the page under the server's eyes.
func TestGuestScribblesWhileServed(t *testing.T) {
	g := newGuest(t, Quotas{})
	var guests sync.WaitGroup
	for i := range 2 {
		guests.Go(func() {
			rnd := rand.New(rand.NewSource(int64(i)))
			req := message(abi.XSWrite, 1, 0, nul("data/x")+"v")
			for range 10_000 {
				switch rnd.Intn(8) {
				case 0:
					g.store(abi.XenstoreConnection, abi.XenstoreReconnect)
				case 1:
					g.store(abi.XenstoreReqCons+4*uint32(rnd.Intn(8)), rnd.Uint32()>>uint(rnd.Intn(32)))
				case 2:
					if err := g.page.WriteAt([]byte{byte(rnd.Intn(256))}, uint32(rnd.Intn(2048))); err != nil {
						t.Error(err)
					}
				default:
					prod := g.load(abi.XenstoreReqCons)
					for j, b := range req {
						if err := g.page.WriteAt([]byte{b}, (prod+uint32(j))%ringSize); err != nil {
							t.Error(err)
						}
					}
					g.store(abi.XenstoreReqProd, prod+uint32(len(req)))
				}
				g.r.Kick()
			}
		})
	}
	guests.Wait()
	g.reconnect()
	if got := g.call(abi.XSGetDomainPath, nul("1")); got != nul("/local/domain/1") {
		t.Errorf("%q", got)
	}
	g.r.Close()
}
