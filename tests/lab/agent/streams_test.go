// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"xenvmm/tests/lab/wire"
)

// start runs sh with the program's ends.
func start(t *testing.T, s *streams, terminal bool, script string) int {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no shell here: ", err)
	}
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", script}, &syscall.ProcAttr{
		Env: os.Environ(), Files: s.childFDs(), Sys: &syscall.SysProcAttr{Setsid: true, Setctty: terminal}})
	s.closeChild()
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func wait(t *testing.T, pid int) int {
	t.Helper()
	var st syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &st, 0, nil); err != nil {
		t.Fatal(err)
	}
	return st.ExitStatus()
}

func TestPipesAreSeparate(t *testing.T) {
	s, err := openStreams("/", nil)
	if err != nil {
		t.Fatal(err)
	}
	pid := start(t, s, false, "read x; echo out $x; echo err >&2; test -t 0 || exit 4")
	if _, err := s.in.Write([]byte("word\n")); err != nil {
		t.Error(err)
	}
	_ = s.in.Close()
	for kind, want := range map[wire.Kind]string{wire.KindStdout: "out word\n", wire.KindStderr: "err\n"} {
		if got, err := io.ReadAll(s.out[kind]); err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if code := wait(t, pid); code != 4 {
		t.Errorf("exit %d", code)
	}
	s.close()
}

func TestATerminalIsTheProgramsOwn(t *testing.T) {
	s, err := openStreams("/", &wire.Terminal{Rows: 33, Cols: 77})
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	p := &program{terminal: s.terminal}
	// A shell with a controlling terminal: size, a new size, and ^C.
	pid := start(t, s, true, `
		test -t 0 && test -t 1 && test -t 2 || exit 9
		trap 'echo resized; stty size' WINCH
		trap 'echo interrupted; exit 5' INT
		stty size; echo ready >/dev/tty
		while :; do read line; done`)
	var text strings.Builder
	buf := make([]byte, 1000)
	until := func(word string) {
		t.Helper()
		for !strings.Contains(text.String(), word) {
			n, err := s.terminal.Read(buf)
			text.Write(buf[:n])
			if err != nil {
				t.Fatalf("%v after %q, want %q", err, text.String(), word)
			}
		}
	}
	until("33 77")
	until("ready")
	p.resize(50, 132)
	// The shell runs a trap when its read returns.
	if _, err := s.in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	until("50 132")
	if _, err := s.in.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	until("interrupted")
	if code := wait(t, pid); code != 5 {
		t.Errorf("exit %d", code)
	}
	for {
		if _, err := s.terminal.Read(buf); err != nil {
			break // whoever forwards output stops here
		}
	}
	if err := s.in.Close(); err != nil {
		t.Error(err)
	}
	if err := setSize(s.terminal, 1, 1); err != nil {
		t.Error("the end of input has closed the terminal: ", err)
	}
	s.close()
	if err := setSize(s.terminal, 1, 1); err == nil {
		t.Error("the terminal is still open")
	}
}

func TestNoTerminalIsAnError(t *testing.T) {
	if _, err := openTerminal(t.TempDir(), &wire.Terminal{}); err == nil || !strings.Contains(err.Error(), unix.ENOENT.Error()) {
		t.Errorf("%v", err)
	}
}
