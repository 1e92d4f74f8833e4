// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
)

func TestFramesArriveAsSent(t *testing.T) {
	var b bytes.Buffer
	c := NewConn(&b)
	big := bytes.Repeat([]byte{7}, MaxPayload)
	for id, p := range [][]byte{nil, []byte("x"), big} {
		if err := c.Write(KindStdout, uint32(id), p); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.WriteUint32(KindCredit, 9, 1<<31); err != nil {
		t.Fatal(err)
	}
	for id, want := range [][]byte{nil, []byte("x"), big} {
		f, err := c.Read()
		if err != nil {
			t.Fatal(err)
		}
		if f.Kind != KindStdout || f.ID != uint32(id) || !bytes.Equal(f.Payload, want) {
			t.Errorf("frame %d: kind %d, id %d, %d bytes", id, f.Kind, f.ID, len(f.Payload))
		}
	}
	f, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.Uint32(); err != nil || n != 1<<31 {
		t.Errorf("number %d, %v", n, err)
	}
	if _, err := c.Read(); err != io.EOF {
		t.Errorf("end: %v, want EOF", err)
	}
}

func TestDamagedFramesAreErrors(t *testing.T) {
	for name, in := range map[string]string{
		"cut header":   "\x01\x00\x00",
		"cut payload":  "\x05\x00\x00\x00\x05\x00\x00\x00\x00ab",
		"no payload":   "\x05\x00\x00\x00\x05\x00\x00\x00\x00",
		"too long":     "\xff\xff\xff\xff\x05\x00\x00\x00\x00",
		"kind zero":    "\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"kind unknown": "\x00\x00\x00\x00\xff\x00\x00\x00\x00",
	} {
		c := NewConn(struct {
			io.Reader
			io.Writer
		}{strings.NewReader(in), io.Discard})
		if _, err := c.Read(); err == nil || err == io.EOF {
			t.Errorf("%s: %v, want an error that isn't a clean end", name, err)
		}
	}
}

func TestWriteRefusesTooLongPayload(t *testing.T) {
	var b bytes.Buffer
	if err := NewConn(&b).Write(KindStdout, 0, make([]byte, MaxPayload+1)); err == nil || b.Len() != 0 {
		t.Errorf("error %v, %d bytes written", err, b.Len())
	}
}

func TestConcurrentWritesDoNotMix(t *testing.T) {
	var b bytes.Buffer
	c := NewConn(&b)
	var wg sync.WaitGroup
	for id := range uint32(8) {
		wg.Go(func() {
			for range 50 {
				_ = c.Write(KindStderr, id, bytes.Repeat([]byte{byte(id)}, 100))
			}
		})
	}
	wg.Wait()
	for range 8 * 50 {
		f, err := c.Read()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(f.Payload, bytes.Repeat([]byte{byte(f.ID)}, 100)) {
			t.Fatalf("frame of %d is mixed up", f.ID)
		}
	}
}

func TestWindowHoldsBackUntilCreditComes(t *testing.T) {
	w := NewWindow(10)
	if n, err := w.Take(7); n != 7 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := w.Take(7); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	got := make(chan int)
	go func() {
		n, _ := w.Take(5)
		got <- n
	}()
	w.Give(2)
	if n := <-got; n != 2 {
		t.Errorf("took %d, want 2", n)
	}
	failed := make(chan error)
	go func() {
		_, err := w.Take(1)
		failed <- err
	}()
	w.Close()
	if err := <-failed; !errors.Is(err, ErrWindowClosed) {
		t.Error(err)
	}
}

// FuzzRead: whatever comes, Read ends, without an allocation beyond the limit,
// and a frame that was read can be written back to the same bytes.
func FuzzRead(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00\x05\x01\x00\x00\x00ab\x00\x00\x00\x00\x02\x00\x00\x00\x00"))
	f.Add([]byte("\xff\xff\xff\x00\x05"))
	f.Fuzz(func(t *testing.T, in []byte) {
		c := NewConn(struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(in), io.Discard})
		done := 0
		for {
			fr, err := c.Read()
			if err != nil {
				return
			}
			var b bytes.Buffer
			if err := NewConn(&b).Write(fr.Kind, fr.ID, fr.Payload); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), in[done:done+b.Len()]) {
				t.Fatalf("frame at %d reads and writes differently", done)
			}
			done += b.Len()
			var call Call
			_ = fr.JSON(&call)
			_, _ = fr.Uint32()
		}
	})
}
