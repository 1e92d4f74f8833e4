// SPDX-License-Identifier: Apache-2.0

package chardev

import (
	"bytes"
	"io"
	"os"
	"testing"
)

func newPipe(t *testing.T) (r, w *os.File, o *Output) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o, err = NewOutput(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close(); o.Close() })
	return r, w, o
}

func TestOutputWaitsForItsReaderAndLosesNothing(t *testing.T) {
	r, w, o := newPipe(t)
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	done := make(chan error, 1)
	go func() {
		_, err := o.Write(data)
		w.Close()
		done <- err
	}()
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d of %d bytes came through, %v", len(got), len(data), err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCutEndsAWriteThatWaits(t *testing.T) {
	_, _, o := newPipe(t)
	done := make(chan error)
	go func() {
		_, err := o.Write(make([]byte, 1<<20)) // far more than a pipe holds
		done <- err
	}()
	o.Cut()
	if err := <-done; err != nil {
		t.Errorf("the write ended with %v", err)
	}
	if n, err := o.Write([]byte("later")); n != 5 || err != nil {
		t.Errorf("a later write: %d, %v", n, err)
	}
}

func TestPtyWithNobodyAttachedNeverHoldsAGuestUp(t *testing.T) {
	d, err := Open(Spec{Kind: Pty}, Host{}, true)
	if err != nil {
		t.Skipf("this host gives no pseudo terminals: %v", err)
	}
	defer d.Close()
	if _, err := d.Out.Write(make([]byte, 1<<20)); err != nil {
		t.Error(err)
	}
}
