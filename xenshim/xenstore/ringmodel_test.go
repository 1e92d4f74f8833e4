// SPDX-License-Identifier: Apache-2.0

package xenstore

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"xenvmm/xenshim/abi"
)

// TestRingStreams sends a random sequence of requests through the ring in
// random pieces, with replies taken in random pieces, and expects exactly the
// bytes that a connection without a ring answers.
func TestRingStreams(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := &guest{t: t, s: newStore(t, Quotas{}), irq: make(chan struct{}, 1)}
		start := rapid.Uint32().Draw(rt, "start")
		for _, off := range []uint32{abi.XenstoreReqCons, abi.XenstoreReqProd, abi.XenstoreRspCons, abi.XenstoreRspProd} {
			g.store(off, start)
		}
		g.connect()
		defer g.r.Close()
		plain := newClient(t, newStore(t, Quotas{}), guestDom)

		var in, want, got []byte
		n := rapid.IntRange(1, 15).Draw(rt, "requests")
		for i := range n {
			r := drawRequest(rt)
			if r.typ == abi.XSWrite && rapid.Bool().Draw(rt, "long") {
				r.arg = string(bytes.Repeat([]byte{byte('a' + i)}, rapid.IntRange(0, 2048).Draw(rt, "size")))
			}
			p := r.payload()
			if rapid.IntRange(0, 5).Draw(rt, "cut") == 0 {
				p = p[:rapid.IntRange(0, len(p)).Draw(rt, "at")]
			}
			tx := rapid.SampledFrom([]uint32{0, 0, 0, 9}).Draw(rt, "tx")
			in = append(in, message(r.typ, uint32(i), tx, p)...)
			plain.s.locked(func() {
				plain.c.handle(header{r.typ, uint32(i), tx, uint32(len(p))}, []byte(p))
				it, _ := plain.c.queue.next()
				want = append(want, it.message()...)
			})
		}
		for len(in) > 0 || len(got) < len(want) {
			k := g.put(in[:min(len(in), rapid.IntRange(0, 700).Draw(rt, "put"))])
			in = in[k:]
			p, _ := g.get(rapid.IntRange(0, 900).Draw(rt, "get"))
			got = append(got, p...)
			g.r.Kick()
			if len(in) == 0 && len(p) == 0 && len(got) < len(want) {
				g.settle()
			}
		}
		if !bytes.Equal(got, want) {
			rt.Fatalf("%d bytes of replies, want %d, or they differ", len(got), len(want))
		}
	})
}
