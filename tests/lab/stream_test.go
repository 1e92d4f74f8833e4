// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"xenvmm/tests/lab/wire"
)

// exitFrame is the end of a program.
func exitFrame(code int) wire.Frame {
	p, _ := json.Marshal(wire.Exit{Code: code})
	return wire.Frame{Kind: wire.KindExit, Payload: p}
}

func TestOutputIsSortedAndCredited(t *testing.T) {
	var sent bytes.Buffer
	s := newStream(7, wire.NewConn(&sent))
	for _, f := range []wire.Frame{
		{Kind: wire.KindStdout, Payload: []byte("out")}, {Kind: wire.KindStderr, Payload: []byte("error")},
		{Kind: wire.KindStdout, Payload: []byte("put")}, exitFrame(3),
	} {
		if err := s.take(f); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	s.copyOut(&out, &errs)
	if out.String() != "output" || errs.String() != "error" {
		t.Errorf("stdout %q, stderr %q", &out, &errs)
	}
	if x := <-s.exit; x.Code != 3 {
		t.Errorf("exit %+v", x)
	}
	total := 0
	for r := wire.NewConn(&sent); ; {
		f, err := r.Read()
		if err == io.EOF {
			break
		}
		n, err := f.Uint32()
		if err != nil || f.Kind != wire.KindCredit || f.ID != 7 {
			t.Fatalf("sent %+v, %v", f, err)
		}
		total += int(n)
	}
	if total != len("outputerror") {
		t.Errorf("credited %d bytes", total)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestABrokenWriterDoesNotStopTheProgram(t *testing.T) {
	var sent, errs bytes.Buffer
	s := newStream(1, wire.NewConn(&sent))
	for _, f := range []wire.Frame{{Kind: wire.KindStdout, Payload: []byte("a")}, {Kind: wire.KindStdout, Payload: []byte("b")},
		{Kind: wire.KindStderr, Payload: []byte("c")}, exitFrame(0)} {
		if err := s.take(f); err != nil {
			t.Fatal(err)
		}
	}
	s.copyOut(brokenWriter{}, &errs)
	if x := <-s.exit; x.Code != 0 || errs.String() != "c" {
		t.Errorf("exit %+v, stderr %q", x, &errs)
	}
}

func TestOutputBeyondTheCreditIsRefused(t *testing.T) {
	s := newStream(1, wire.NewConn(new(bytes.Buffer)))
	f := wire.Frame{Kind: wire.KindStdout, Payload: make([]byte, wire.StreamWindow)}
	if err := s.take(f); err != nil {
		t.Fatal(err)
	}
	if err := s.take(f); !errors.Is(err, errCredit) {
		t.Error(err)
	}
	if err := s.take(wire.Frame{Kind: wire.KindHello}); err == nil {
		t.Error("a frame of another kind is no error")
	}
	s.end()
	s.copyOut(nil, nil) // returns
}

func TestInputStopsWithoutCredit(t *testing.T) {
	r, w := io.Pipe()
	s := newStream(1, wire.NewConn(struct {
		io.Reader
		io.Writer
	}{strings.NewReader(""), w}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.copyIn(bytes.NewReader(make([]byte, wire.StreamWindow+5)))
		_ = w.Close()
	}()
	c := wire.NewConn(struct {
		io.Reader
		io.Writer
	}{r, io.Discard})
	got := 0
	for {
		f, err := c.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got += len(f.Payload)
		if got == wire.StreamWindow {
			select {
			case <-done:
				t.Fatal("it went on without credit")
			default:
				s.credit.Give(5)
			}
		}
	}
	if <-done; got != wire.StreamWindow+5 {
		t.Errorf("sent %d bytes", got)
	}
}
