// SPDX-License-Identifier: Apache-2.0

package serial

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

func TestInputWaitsForRTS(t *testing.T) {
	r := newRig()
	if r.Room() != 0 || r.Input([]byte("x")) != 0 {
		t.Error("input taken before the guest wants any")
	}
	r.open(fcrEnable)
	if r.Room() != 16 || r.rooms != 1 {
		t.Errorf("room %d, %d calls", r.Room(), r.rooms)
	}
	if n := r.Input(make([]byte, 20)); n != 16 || r.Room() != 0 || r.in(regLSR)&lsrData == 0 {
		t.Errorf("%d taken, room %d", n, r.Room())
	}
	if r.in(regLSR)&lsrOverrun != 0 {
		t.Error("host input overran the FIFO")
	}
	r.in(regData)
	if r.Room() != 1 || r.rooms != 1 {
		t.Errorf("room %d, %d calls after one read", r.Room(), r.rooms)
	}
	for range 7 {
		r.in(regData)
	}
	if r.Room() != 8 || r.rooms != 2 {
		t.Errorf("room %d, %d calls with the FIFO half empty", r.Room(), r.rooms)
	}
	r.set(regMCR, mcrLoop|mcrRTS)
	if r.Room() != 0 {
		t.Error("room in loopback mode")
	}
}

func TestReceiveInterrupts(t *testing.T) {
	for fcr, trigger := range map[byte]int{0: 1, fcrEnable: 1, fcrEnable | 0x40: 4, fcrEnable | 0x80: 8, fcrEnable | 0xc0: 14} {
		t.Run(fmt.Sprintf("FCR %#x", fcr), func(t *testing.T) {
			r := newRig()
			r.open(fcr)
			r.set(regIER, ierRx)
			for i := 1; i <= trigger; i++ {
				r.Input([]byte{byte(i)})
				want := byte(iirTimeout)
				if i >= trigger {
					want = iirRx
				}
				if got := r.in(regIIR) &^ iirFIFO; got != want || !r.level {
					t.Errorf("%d bytes: IIR %#x, want %#x", i, got, want)
				}
			}
			for range trigger {
				r.in(regData)
			}
			if r.level {
				t.Error("line is up with the FIFO empty")
			}
		})
	}
}

func TestFIFOControl(t *testing.T) {
	r := newRig()
	r.open(fcrEnable)
	r.Input([]byte("abc"))
	r.set(regIIR, fcrEnable)
	if r.in(regData) != 'a' {
		t.Error("rewriting FCR lost data")
	}
	r.set(regIIR, fcrEnable|fcrClearRx)
	if r.in(regLSR)&lsrData != 0 {
		t.Error("FIFO not cleared")
	}
	r.Input([]byte("abc"))
	r.set(regIIR, 0)
	if r.in(regLSR)&lsrData != 0 || r.in(regIIR)&iirFIFO != 0 || r.Room() != 1 {
		t.Error("FIFO not off and empty")
	}
}

// TestPasteOfAMebibyteLosesNothing feeds much more than the FIFO holds through
// the blocking writer while a guest reads by polling.
func TestPasteOfAMebibyteLosesNothing(t *testing.T) {
	r := newRig()
	want := make([]byte, 1<<20)
	for i := range want {
		want[i] = byte(i * 7 >> 3)
	}
	done := make(chan error, 1)
	go func() {
		n, err := io.Copy(r.Line(), bytes.NewReader(want))
		if err == nil && n != int64(len(want)) {
			err = fmt.Errorf("%d bytes written", n)
		}
		done <- err
	}()
	r.open(fcrEnable)
	got := make([]byte, 0, len(want))
	for len(got) < len(want) {
		s := r.in(regLSR)
		if s&lsrOverrun != 0 {
			t.Fatal("overrun")
		}
		if s&lsrData != 0 {
			got = append(got, r.in(regData))
		} else {
			runtime.Gosched() // a guest polling from its own CPU
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("what arrived differs")
	}
}

func TestCloseEndsWaitingWrites(t *testing.T) {
	r := newRig()
	r.open(fcrEnable)
	type result struct {
		n   int
		err error
	}
	done := make(chan result)
	go func() {
		n, err := r.Line().Write(make([]byte, 40))
		done <- result{n, err}
	}()
	for r.Room() != 0 { // until the writer has filled the FIFO and waits, or will
		runtime.Gosched()
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if x := <-done; x.n != 16 || !errors.Is(x.err, io.ErrClosedPipe) {
		t.Errorf("%+v", x)
	}
	if r.Input([]byte("x")) != 0 {
		t.Error("input taken after Close")
	}
	r.set(regData, 'y')
	if r.out.String() != "y" {
		t.Error("output is dead after Close")
	}
}

// TestBytesArriveInOrder: whatever a guest does short of clearing the FIFO,
// it reads exactly what was taken from the host.
func TestBytesArriveInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRig()
		r.open(fcrEnable | rapid.SampledFrom([]byte{0, 0x40, 0x80, 0xc0}).Draw(t, "trigger"))
		next, expect := byte(0), byte(0)
		for range rapid.IntRange(1, 100).Draw(t, "ops") {
			switch rapid.IntRange(0, 4).Draw(t, "op") {
			case 0, 1:
				p := make([]byte, rapid.IntRange(1, 20).Draw(t, "n"))
				for i := range p {
					p[i] = next + byte(i)
				}
				next += byte(r.Input(p))
			case 2:
				for r.in(regLSR)&lsrData != 0 {
					if b := r.in(regData); b != expect {
						t.Fatalf("got %d, want %d", b, expect)
					}
					expect++
				}
			case 3:
				r.set(regIER, rapid.Byte().Draw(t, "IER"))
			case 4:
				r.set(regMCR, rapid.Byte().Draw(t, "MCR")&^mcrLoop)
			}
			if want := r.in(regIIR)&iirNone == 0; !want && r.level {
				t.Fatal("line is up and nothing is pending")
			}
		}
	})
}
