// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"xenvmm/xenshim/abi"
)

// TestStreamsUnderRandomChunks checks both directions against plain buffers:
// whatever the sizes and the order of steps, what goes in comes out.
func TestStreamsUnderRandomChunks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g, out := newGuest(t), &sink{}
		start := rapid.Uint32().Draw(rt, "start")
		for _, off := range []uint32{abi.ConsoleInCons, abi.ConsoleInProd, abi.ConsoleOutCons, abi.ConsoleOutProd} {
			g.store(off, start)
		}
		g.c = New(&g.page, out, g.notify, nil)
		var wrote, typed, read []byte
		next := byte(0)
		chunk := func(max int) []byte {
			p := make([]byte, rapid.IntRange(0, max).Draw(rt, "n"))
			for i := range p {
				p[i] = next
				next++
			}
			return p
		}
		rt.Repeat(map[string]func(*rapid.T){
			"guest writes": func(*rapid.T) {
				p := chunk(3000)
				wrote = append(wrote, p[:g.put(p)]...)
			},
			"kick": func(*rapid.T) { g.c.Kick() },
			"host types": func(*rapid.T) {
				p := chunk(1500)
				typed = append(typed, p[:g.c.Input(p)]...)
			},
			"guest reads": func(rt *rapid.T) {
				read = append(read, g.get(rapid.IntRange(0, 2000).Draw(rt, "max"))...)
			},
			"": func(rt *rapid.T) {
				if !bytes.HasPrefix(typed, read) {
					rt.Fatal("input differs")
				}
				if !bytes.HasPrefix(wrote, out.Bytes()) {
					rt.Fatal("output differs")
				}
			},
		})
		g.c.Close()
		if !bytes.Equal(out.Bytes(), wrote) {
			rt.Fatalf("output of %d bytes for %d written", len(out.Bytes()), len(wrote))
		}
		if read = append(read, g.get(1<<20)...); !bytes.Equal(read, typed) {
			rt.Fatal("input differs at the end")
		}
	})
}
