// SPDX-License-Identifier: Apache-2.0

package chardev

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"
)

func TestSpecsParseAndPrint(t *testing.T) {
	for text, want := range map[string]Spec{
		"off":                 {Kind: Off},
		"stdio":               {Kind: Stdio},
		"pty":                 {Kind: Pty},
		"file=/tmp/a=b":       {Kind: File, Path: "/tmp/a=b"},
		"file=log.txt,append": {Kind: File, Path: "log.txt", Append: true},
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%+v prints as %q, want %q", got, got.String(), text)
		}
	}
	if s := (Spec{}).String(); s != "off" {
		t.Errorf("the zero Spec prints as %q", s)
	}
}

func TestBadSpecsNameTheValueAndTheSyntax(t *testing.T) {
	for _, text := range []string{"", "tty", "stdio,append", "off=1", "file", "file=", "file=a,trunc", "file=a\x00b", "FILE=a"} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), Syntax) || !strings.Contains(err.Error(), "device ") {
			t.Errorf("Parse(%q): %v, want an error with the syntax", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("file=a,append")
	f.Fuzz(func(t *testing.T, s string) {
		spec, err := Parse(s)
		if err != nil {
			return
		}
		if again, err := Parse(spec.String()); err != nil || again != spec {
			t.Errorf("%q parses to %+v, printed again to %+v, %v", s, spec, again, err)
		}
	})
}

func TestFilesAreTruncatedOrAppendedTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write := func(spec, text string) {
		t.Helper()
		s, err := Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Open(s, Host{}, true)
		if err != nil {
			t.Fatal(err)
		}
		if d.In != nil {
			t.Error("a file device has input")
		}
		if _, err := io.WriteString(d.Out, text); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write("file="+path, "old")
	write("file="+path, "new")
	write("file="+path+",append", "er")
	if b, _ := os.ReadFile(path); string(b) != "newer" {
		t.Errorf("file holds %q, want %q", b, "newer")
	}
	if _, err := Open(Spec{Kind: File, Path: path + "/x"}, Host{}, false); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("opening below a file: %v, want an error with the path", err)
	}
}

func TestPtyPassesBytesUnchangedBothWays(t *testing.T) {
	d, err := Open(Spec{Kind: Pty}, Host{}, true)
	if err != nil {
		t.Skipf("this host gives no pseudo terminals: %v", err)
	}
	defer d.Close()
	far, err := os.OpenFile(d.Path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	msg := []byte("a\nb\x03\x04\r")
	for _, dir := range []struct {
		w io.Writer
		r io.Reader
	}{{d.Out, far}, {far, d.In}} {
		if _, err := dir.w.Write(msg); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(msg))
		if _, err := io.ReadFull(dir.r, got); err != nil || !bytes.Equal(got, msg) {
			t.Errorf("got %q, %v; want %q", got, err, msg)
		}
	}
}

func TestTerminalIsRawWhileOpenAndRestoredAfter(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Skipf("this host gives no pseudo terminals: %v", err)
	}
	defer master.Close()
	defer slave.Close()
	before, err := term.GetState(int(slave.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	quit := 0
	tm := NewTerminal(slave)
	d, err := Open(Spec{Kind: Stdio}, Host{Stdin: slave, Stdout: io.Discard, Terminal: tm, Quit: func() { quit++ }}, true)
	if err != nil {
		t.Fatal(err)
	}
	during, _ := term.GetState(int(slave.Fd()))
	if *during == *before {
		t.Error("the terminal is not raw while the device is open")
	}
	if _, err := master.Write([]byte("\x01x")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.In.Read(make([]byte, 8)); err != nil || quit != 1 {
		t.Errorf("after Ctrl-a x: quit called %d times, %v", quit, err)
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if err := tm.Restore(); err != nil {
			t.Fatal(err)
		}
	}
	if after, _ := term.GetState(int(slave.Fd())); *after != *before {
		t.Error("the terminal was not put back")
	}
}

func TestOutputOnlyDeviceLeavesInputAlone(t *testing.T) {
	d, err := Open(Spec{Kind: Stdio}, Host{Stdin: os.Stdin, Stdout: io.Discard}, false)
	if err != nil || d.In != nil {
		t.Errorf("In %v, %v; want nil, nil", d.In, err)
	}
	if NewTerminal(nil) != nil {
		t.Error("no file is a terminal")
	}
}

func TestEscapeSequences(t *testing.T) {
	for in, want := range map[string]string{
		"abc":           "abc",
		"a\x01\x01b":    "a\x01b",
		"a\x01xb":       "ab",
		"a\x01qb":       "ab",
		"\x01":          "",
		"\x01\x01\x01x": "\x01",
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, in); err != nil {
			t.Fatal(err)
		}
		w.Close()
		file, err := newInterruptible(r)
		if err != nil {
			t.Fatal(err)
		}
		e := iotest.OneByteReader(&escapeReader{interruptible: file})
		got, err := io.ReadAll(e)
		if err != nil || string(got) != want {
			t.Errorf("%q reads as %q, %v; want %q", in, got, err, want)
		}
		file.Close()
		r.Close()
	}
}

func TestAReadThatWaitsCanBeEndedAndReadingGoesOn(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	d, err := Open(Spec{Kind: Stdio}, Host{Stdin: r, Stdout: io.Discard}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	in := d.In.(interface {
		io.Reader
		SetReadDeadline(time.Time) error
	})
	result := make(chan error)
	go func() {
		_, err := in.Read(make([]byte, 1))
		result <- err
	}()
	if err := in.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := <-result; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the read ended with %v", err)
	}
	if err := in.SetReadDeadline(time.Now().Add(time.Hour)); err == nil {
		t.Error("a deadline in the future is accepted but not kept")
	}
	if err := in.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	if _, err := in.Read(b); err != nil || b[0] != 'x' {
		t.Errorf("read %q, %v after the deadline was taken back", b, err)
	}
}
