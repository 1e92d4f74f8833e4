// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"encoding/binary"
	"testing"

	"xenvmm/xenshim/abi"
)

// FuzzRing lets the guest write arbitrary words anywhere in the page while
// both directions run.
func FuzzRing(f *testing.F) {
	f.Add([]byte("hello"))
	f.Add(binary.LittleEndian.AppendUint32([]byte{byte(abi.ConsoleOutProd / 16), 3}, 2049))
	f.Add(bytes.Repeat([]byte{0xc0, 1, 0xff, 0xff, 0xff, 0xff}, 20))
	f.Fuzz(func(t *testing.T, data []byte) {
		g := newGuest(t)
		g.c = New(&g.page, nil, g.notify, nil)
		if err := g.c.Attach(bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		for len(data) >= 6 {
			off := uint32(binary.LittleEndian.Uint16(data)) % 1024 * 4
			g.store(off, binary.LittleEndian.Uint32(data[2:]))
			data = data[6:]
			g.c.Kick()
			g.c.Input([]byte{1, 2, 3})
		}
		g.c.Close()
	})
}

func BenchmarkOutput(b *testing.B) {
	g := newGuest(b)
	g.c = New(&g.page, nil, g.notify, nil)
	p := random(1024)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		g.writeAll(p)
	}
	g.c.Close()
}
