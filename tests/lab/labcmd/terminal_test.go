// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"xenvmm/tests/lab"
)

func TestTheEscapeIsFound(t *testing.T) {
	for in, want := range map[string]string{
		"ls\rexit\r": "ls\rexit\r", "a~.b\r": "a~.b\r", "~x\r": "~x\r", "~~.\r": "~.\r", "~\r~x": "~\r~x",
		"ls\r~~\r": "ls\r~\r", "": "", "é~.\n": "é~.\n",
		"~.": "!", "ls\r~.more": "ls\r!", "\x03~.": "\x03~.", "ls\n~.": "ls\n!", "x\r~a~.\r~.": "x\r~a~.\r!",
	} {
		for how, r := range map[string]io.Reader{"at once": strings.NewReader(in), "by bytes": iotest.OneByteReader(strings.NewReader(in))} {
			var got bytes.Buffer
			found := false
			_, err := io.Copy(&got, struct{ io.Reader }{&escapeReader{r: r, found: func() { found = true }}})
			if found != strings.HasSuffix(want, "!") || found != errors.Is(err, errEscaped) {
				t.Errorf("%q %s: found %v, %v", in, how, found, err)
			}
			// What was read together with the escape goes with the host.
			if w := strings.TrimSuffix(want, "!"); got.String() != w && !(found && strings.HasPrefix(w, got.String())) {
				t.Errorf("%q %s: %q, want %q", in, how, &got, w)
			}
		}
	}
}

func TestTheTerminalIsRawWhileAttached(t *testing.T) {
	outer, inner, err := pty.Open()
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	defer outer.Close()
	defer inner.Close()
	set := func(rows, cols uint16) {
		t.Helper()
		if err := pty.Setsize(outer, &pty.Winsize{Rows: rows, Cols: cols}); err != nil {
			t.Fatal(err)
		}
	}
	mode := func() unix.Termios {
		t.Helper()
		m, err := unix.IoctlGetTermios(int(inner.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return *m
	}
	before := mode()
	set(30, 100)
	term := &terminal{file: inner, escape: func() {}}
	var cmd lab.Cmd
	detach, err := term.attach(&cmd)
	if err != nil {
		t.Fatal(err)
	}
	if cmd.Terminal.Size != (lab.Size{Rows: 30, Cols: 100}) {
		t.Errorf("size %+v", cmd.Terminal.Size)
	}
	if raw := mode(); raw.Lflag&(unix.ECHO|unix.ICANON|unix.ISIG) != 0 {
		t.Errorf("local modes %#x are not raw", raw.Lflag)
	}
	set(50, 132)
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil { // it isn't our controlling terminal
		t.Fatal(err)
	}
	if size := <-cmd.Terminal.Resize; size != (lab.Size{Rows: 50, Cols: 132}) {
		t.Errorf("new size %+v", size)
	}
	// ^C is a byte.
	if _, err := outer.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 10)
	if n, err := cmd.Stdin.Read(buf); err != nil || n != 1 || buf[0] != 3 {
		t.Errorf("read %q, %v", buf[:n], err)
	}
	detach()
	if after := mode(); after != before {
		t.Errorf("the terminal is left in mode %+v, was %+v", after, before)
	}
}

func TestWithoutATerminalThereIsNothingToAttach(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := (&terminal{file: r}).attach(new(lab.Cmd)); err == nil {
		t.Error("no error")
	}
}
