// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"errors"
	"io"
	"math/rand"
	"os"
	"sync"
	"testing"

	"xenvmm/xenshim/abi"
)

// sink collects output; each write is announced.
type sink struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *sink) Bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.buf.Bytes())
}

func random(n int) []byte {
	p := make([]byte, n)
	rand.New(rand.NewSource(int64(n))).Read(p)
	return p
}

func TestOutputArrivesInOrder(t *testing.T) {
	g, out := newGuest(t), &sink{}
	g.c = New(&g.page, out, g.notify, nil)
	want := random(100_000)
	g.writeAll(want)
	g.c.Close()
	if !bytes.Equal(out.Bytes(), want) {
		t.Fatalf("output of %d bytes differs from the %d written", len(out.Bytes()), len(want))
	}
}

func TestCloseDrainsTheRingAndMarksIt(t *testing.T) {
	g, out := newGuest(t), &sink{}
	g.c = New(&g.page, out, g.notify, nil)
	want := random(abi.ConsoleOutSize)
	if n := g.put(want); n != len(want) {
		t.Fatalf("put %d", n)
	}
	g.c.Close() // without a kick
	g.c.Close()
	if !bytes.Equal(out.Bytes(), want) {
		t.Fatal("output lost at close")
	}
	var state [1]byte
	if err := g.page.ReadAt(state[:], abi.ConsoleConnection); err != nil || state[0] != abi.ConsoleDisconnected {
		t.Fatalf("connection byte %d, %v", state[0], err)
	}
}

func TestTakesOverARingInUse(t *testing.T) {
	g, out := newGuest(t), &sink{}
	for off, v := range map[uint32]uint32{
		abi.ConsoleOutCons: 0xffffff00, abi.ConsoleOutProd: 0xffffff00,
		abi.ConsoleInCons: 0xfffffffe, abi.ConsoleInProd: 0xfffffffe,
	} {
		g.store(off, v)
	}
	g.put([]byte("early"))
	g.c = New(&g.page, out, g.notify, nil)
	want := random(5000) // indices wrap
	g.writeAll(want)
	if n := g.c.Input([]byte("typed")); n != 5 {
		t.Fatalf("input took %d", n)
	}
	if got := g.get(100); string(got) != "typed" {
		t.Fatalf("guest read %q", got)
	}
	g.c.Close()
	if !bytes.Equal(out.Bytes(), append([]byte("early"), want...)) {
		t.Fatal("output differs")
	}
}

func TestPasteOfOneMiBLosesNothing(t *testing.T) {
	g := newGuest(t)
	g.c = New(&g.page, nil, g.notify, nil)
	want := random(1 << 20)
	if err := g.c.Attach(bytes.NewReader(want)); err != nil {
		t.Fatal(err)
	}
	if got := g.readAll(len(want), 300); !bytes.Equal(got, want) {
		t.Fatal("input differs from what was pasted")
	}
	g.c.Close()
}

func TestInputStopsAtAFullRing(t *testing.T) {
	g := newGuest(t)
	g.c = New(&g.page, nil, g.notify, nil)
	defer g.c.Close()
	want := random(3000)
	n := g.c.Input(want)
	if n != abi.ConsoleInSize {
		t.Fatalf("took %d bytes", n)
	}
	before := g.events.Load()
	if m := g.c.Input(want[n:]); m != 0 {
		t.Fatalf("took %d bytes into a full ring", m)
	}
	if g.events.Load() != before {
		t.Fatal("event without a byte")
	}
	g.get(10)
	if m := g.c.Input(want[n:]); m != 10 {
		t.Fatalf("took %d bytes for 10 of room", m)
	}
}

// gate counts what is read from it.
type gate struct {
	r    io.Reader
	mu   sync.Mutex
	read int
}

func (g *gate) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	g.mu.Lock()
	g.read += n
	g.mu.Unlock()
	return n, err
}

func TestReaderIsHeldBackWhileTheGuestDoesNotRead(t *testing.T) {
	g := newGuest(t)
	g.c = New(&g.page, nil, g.notify, nil)
	src := &gate{r: bytes.NewReader(random(1 << 20))}
	if err := g.c.Attach(src); err != nil {
		t.Fatal(err)
	}
	<-g.irq
	for range 100 {
		g.c.Kick() // kicks without reading make no room
	}
	g.c.Close()
	src.mu.Lock()
	defer src.mu.Unlock()
	if src.read > 2*abi.ConsoleInSize {
		t.Fatalf("%d bytes taken from the reader for a ring of %d", src.read, abi.ConsoleInSize)
	}
}

func TestCloseInterruptsABlockedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	g := newGuest(t)
	g.c = New(&g.page, nil, g.notify, nil)
	if err := g.c.Attach(r); err != nil {
		t.Fatal(err)
	}
	if err := g.c.Attach(r); !errors.Is(err, ErrAttached) {
		t.Fatalf("second reader: %v", err)
	}
	g.c.Close()
	if err := g.c.Attach(r); !errors.Is(err, ErrAttached) {
		t.Fatalf("reader after close: %v", err)
	}
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the pipe is unusable after close: %v", err)
	}
}

func TestNoEventWithoutAByte(t *testing.T) {
	g, out := newGuest(t), &sink{}
	g.c = New(&g.page, out, g.notify, nil)
	for range 1000 {
		g.c.Kick()
	}
	g.writeAll([]byte("x"))
	for range 1000 {
		g.c.Kick()
	}
	g.c.Close()
	if n := g.events.Load(); n != 1 {
		t.Fatalf("%d events for one byte", n)
	}
}

type failing struct{ n int }

func (f *failing) Write(p []byte) (int, error) { f.n++; return 0, errors.New("gone") }

func TestAFailedWriterDoesNotStopTheGuest(t *testing.T) {
	g, out := newGuest(t), &failing{}
	g.c = New(&g.page, out, g.notify, nil)
	g.writeAll(random(50_000))
	g.c.Close()
	if out.n != 1 {
		t.Fatalf("%d writes to a failed writer", out.n)
	}
}

func TestHostileIndices(t *testing.T) {
	for _, off := range []uint32{abi.ConsoleOutProd, abi.ConsoleOutCons, abi.ConsoleInCons, abi.ConsoleInProd} {
		for _, v := range []uint32{1, abi.ConsoleInSize + 1, abi.ConsoleOutSize + 1, 1 << 31, 1<<32 - 1} {
			g, out := newGuest(t), &sink{}
			g.c = New(&g.page, out, g.notify, nil)
			g.store(off, v)
			g.c.Kick()
			g.c.Input([]byte("abc"))
			// The guest comes to its senses: both directions work again.
			g.settle()
			g.store(abi.ConsoleOutProd, g.load(abi.ConsoleOutCons))
			g.store(abi.ConsoleInCons, g.load(abi.ConsoleInProd))
			g.settle()
			g.writeAll([]byte("after"))
			if n := g.c.Input([]byte("hello")); n != 5 {
				t.Fatalf("%#x=%#x: input took %d", off, v, n)
			}
			if got := g.get(100); string(got) != "hello" {
				t.Fatalf("%#x=%#x: guest read %q", off, v, got)
			}
			g.c.Close()
			if !bytes.HasSuffix(out.Bytes(), []byte("after")) {
				t.Fatalf("%#x=%#x: output ends %q", off, v, out.Bytes())
			}
		}
	}
}

// settle returns once the output goroutine has looked at the ring again.
func (g *guest) settle() {
	for range 3 { // slot free, first being handled, first handled
		g.c.kick <- struct{}{}
	}
}

func TestPageThatGoesAway(t *testing.T) {
	g, out := newGuest(t), &sink{}
	g.c = New(&g.page, out, g.notify, nil)
	r, w := io.Pipe()
	if err := g.c.Attach(r); err != nil {
		t.Fatal(err)
	}
	g.page.Unmap()
	g.c.Kick()
	if n := g.c.Input([]byte("x")); n != 0 {
		t.Fatalf("input took %d without a page", n)
	}
	w.Close()
	g.c.Close()
}

func TestGuestRacesItsOwnIndices(t *testing.T) {
	g := newGuest(t)
	g.c = New(&g.page, io.Discard, g.notify, nil)
	if err := g.c.Attach(bytes.NewReader(random(200_000))); err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewSource(1))
	for range 20_000 {
		off := uint32(abi.ConsoleInCons) + 4*uint32(rnd.Intn(4))
		g.store(off, rnd.Uint32()>>uint(rnd.Intn(32)))
		g.c.Kick()
	}
	g.c.Close()
}

func TestInputResumesAtABrokenConsumerIndex(t *testing.T) {
	g := newGuest(t)
	g.c = New(&g.page, nil, g.notify, nil)
	defer g.c.Close()
	g.c.Input([]byte("lost"))
	for _, cons := range []uint32{5, 1<<31 + 7, 100} {
		g.store(abi.ConsoleInCons, cons)
		want := random(3000)
		if n := g.c.Input(want); n != abi.ConsoleInSize {
			t.Fatalf("consumer %#x: took %d bytes", cons, n)
		}
		if got := g.get(3000); !bytes.Equal(got, want[:abi.ConsoleInSize]) {
			t.Fatalf("consumer %#x: guest read %d bytes, or others", cons, len(got))
		}
	}
}
