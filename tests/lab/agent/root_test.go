// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"io"
	"os"
	"strings"
	"testing"

	"xenvmm/tests/lab/wire"
)

func TestPathsStayInside(t *testing.T) {
	for in, want := range map[string]string{"/a/b": "a/b", "/": ".", "/../../etc": "etc", "//x/./y/": "x/y"} {
		if got, err := inside(in); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want)
		}
	}
	for _, bad := range []string{"", "a", "../a", "/a\x00b"} {
		if _, err := inside(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestMountNamesAreUnescaped(t *testing.T) {
	if got := unescape(`/a\040b\011\134c`); got != "/a b\t\\c" {
		t.Errorf("%q", got)
	}
}

func TestWindowPiecesAreChecked(t *testing.T) {
	s := &server{window: make([]byte, 100)}
	for _, c := range []struct {
		off, n int64
		ok     bool
	}{{0, 100, true}, {100, 0, true}, {40, 60, true}, {40, 61, false}, {-1, 1, false}, {0, -1, false}, {101, 0, false}, {1, 1<<63 - 1, false}} {
		p, err := s.slice(c.off, c.n)
		if (err == nil) != c.ok || err == nil && int64(len(p)) != c.n {
			t.Errorf("[%d, +%d): %d bytes, %v", c.off, c.n, len(p), err)
		}
	}
}

func TestInputIsFedAndEnds(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	credit := make(chan int, 10)
	s := newStdin(w, func(n int) { credit <- n })
	s.push([]byte("some "))
	s.push([]byte("input"))
	s.push(nil)
	got, err := io.ReadAll(r)
	if err != nil || string(got) != "some input" {
		t.Errorf("%q, %v", got, err)
	}
	if n := <-credit + <-credit; n != len("some input") {
		t.Errorf("credit for %d bytes", n)
	}
}

func TestInputNobodyReadsIsCredited(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	credit := make(chan int, 10)
	s := newStdin(w, func(n int) { credit <- n })
	for range 3 {
		s.push(make([]byte, 1000))
		if n := <-credit; n != 1000 {
			t.Errorf("credit for %d bytes", n)
		}
	}
	s.close()
}

func TestOnlyProcessOneIsAnInit(t *testing.T) {
	if IsInit() {
		t.Error("a test is no init")
	}
	if !strings.Contains(KernelArgs(), cmdlineFlag) {
		t.Error("the kernel's arguments lack the mark")
	}
}

func TestUnknownCallsAreErrors(t *testing.T) {
	s := newServer(nil, nil, 0, "", nil)
	if _, err := s.call(&wire.Call{}); err == nil {
		t.Error("an empty call is no error")
	}
}
