// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"testing"

	"xenvmm/xenshim/internal/sharedpage"
)

// Whatever access finds the page away, the guest's output is written once and in
// order, the guest is told of the room, and its input arrives.
func TestNothingIsLostWhileThePageIsAway(t *testing.T) {
	missed := 0
	for seed := range int64(40) {
		g, out := newGuest(t), &sink{}
		ready := make(chan struct{}) // the console exists
		f := sharedpage.NewFlaky(&g.page, seed, 2+int(seed)%7, func() { <-ready; g.c.Kick() })
		g.c = New(f, out, g.notify, nil)
		close(ready)
		input := random(3000)
		if err := g.c.Attach(bytes.NewReader(input)); err != nil {
			t.Fatal(err)
		}
		if got := g.readAll(len(input), 700); !bytes.Equal(got, input) {
			t.Fatalf("seed %d: %d bytes of input differ", seed, len(got))
		}
		want := random(9000) // more than four rings: each needs the room to be told
		g.writeAll(want)
		for len(out.Bytes()) < len(want) {
			<-g.irq
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Fatalf("seed %d: output differs", seed)
		}
		g.c.Close()
		missed += f.Missed()
	}
	if missed < 500 {
		t.Fatalf("the page was away %d times only", missed)
	}
}
