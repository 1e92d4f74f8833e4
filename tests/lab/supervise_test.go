// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"context"
	"errors"
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"xenvmm/tests/lab/wire"
)

// frames are those that went to the init.
func frames(t *testing.T, sent *bytes.Buffer) (kinds []wire.Kind, numbers []uint32) {
	t.Helper()
	for r := wire.NewConn(sent); ; {
		f, err := r.Read()
		if err == io.EOF {
			return kinds, numbers
		}
		n, e := f.Uint32()
		if err != nil || e != nil {
			t.Fatal(err, e)
		}
		kinds, numbers = append(kinds, f.Kind), append(numbers, n)
	}
}

// TestAHostThatHangsIsEnded: neither SIGQUIT nor SIGKILL has an effect, and the
// caller still gets the reason, in bounded time.
func TestAHostThatHangsIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent bytes.Buffer
		h := &Host{conn: wire.NewConn(&sent), dead: make(chan struct{}), proc: &process{done: make(chan struct{})}}
		close(h.proc.done) // there is no process to kill
		s := newStream(7, h.conn)
		limit := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, limit)
		defer cancel()
		begin := time.Now()
		// The listening goroutine notices the end of the emulator.
		time.AfterFunc(time.Minute+3*time.Second+answerLimit+time.Millisecond, func() { close(h.dead) })
		_, err := h.supervise(ctx, &Cmd{Path: "/x", Grace: 3 * time.Second}, s)
		var e *HostError
		if !errors.As(err, &e) || !errors.Is(err, limit) {
			t.Errorf("%v", err)
		}
		if d := time.Since(begin); d > time.Minute+3*time.Second+answerLimit+time.Second {
			t.Errorf("it took %v", d)
		}
		kinds, numbers := frames(t, &sent)
		if len(kinds) != 2 || kinds[0] != wire.KindSignal || numbers[0] != uint32(syscall.SIGQUIT) || numbers[1] != uint32(syscall.SIGKILL) {
			t.Errorf("sent %v %v", kinds, numbers)
		}
	})
}

func TestTheTerminalsSizeIsPassedOn(t *testing.T) {
	var sent bytes.Buffer
	h := &Host{conn: wire.NewConn(&sent), dead: make(chan struct{})}
	s := newStream(7, h.conn)
	resize := make(chan Size)
	go func() {
		resize <- Size{Rows: 50, Cols: 132}
		s.exit <- wire.Exit{Code: 3}
	}()
	x, err := h.supervise(t.Context(), &Cmd{Path: "/x", Terminal: &Terminal{Resize: resize}}, s)
	if err != nil || x.Code != 3 {
		t.Errorf("%+v, %v", x, err)
	}
	if kinds, numbers := frames(t, &sent); len(kinds) != 1 || kinds[0] != wire.KindResize || numbers[0] != 50<<16|132 {
		t.Errorf("sent %v %#x", kinds, numbers)
	}
}
