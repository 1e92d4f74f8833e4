// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// session is a `vmm lab shell` on a terminal of its own.
type session struct {
	cmd  *exec.Cmd
	tr   *trace
	ours *os.File // the end a person sits at
	line *os.File // the other, to look at its modes
	text chan string
	seen string
}

func openSession(t *testing.T, vmm string, args ...string) *session {
	t.Helper()
	for _, tool := range []string{"bash", "stty", "sleep", "ls"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("the shell's tools are those of this machine: ", err)
		}
	}
	ours, line, err := pty.Open()
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	ours, err = pollable(ours)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{cmd: exec.Command(vmm, append([]string{"lab", "shell"}, args...)...), ours: ours, line: line, text: make(chan string, 100)}
	s.tr = newTrace(t, s.cmd)
	s.cmd.Env = append(s.cmd.Env, "TERM=xterm")
	t.Cleanup(func() { _ = ours.Close(); _ = line.Close() })
	s.resize(t, 30, 100)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = line, line, line
	s.cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.text)
		buf := make([]byte, 4096)
		for {
			n, err := ours.Read(buf)
			if n > 0 {
				s.text <- string(buf[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	return s
}

// pollable makes a file that can be closed under a read, which a terminal whose
// descriptor was asked for is not.
func pollable(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(unix.SetNonblock(fd, true), f.Close()); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// resize leaves the descriptor of our end alone: asking for it would make
// reads block, and closing wait for them.
func (s *session) resize(t *testing.T, rows, cols uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(s.line.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols}); err != nil {
		t.Fatal(err)
	}
}

func (s *session) typed(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(s.ours, keys); err != nil {
		t.Fatal(err)
	}
}

// until reads on to a text. What is typed comes back, so the text must differ.
func (s *session) until(t *testing.T, want string) {
	t.Helper()
	limit := time.After(patient)
	for {
		if _, after, found := strings.Cut(s.seen, want); found {
			s.seen = after
			return
		}
		select {
		case more, ok := <-s.text:
			if !ok {
				t.Fatalf("the terminal is closed; want %q, have %q", want, s.seen)
			}
			s.seen += more
		case <-limit:
			t.Fatalf("want %q, have %q", want, s.seen)
		}
	}
}

func (s *session) mode(t *testing.T) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(s.line.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

// code waits for the end.
func (s *session) code(t *testing.T) int {
	t.Helper()
	err := s.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}

func TestShellOnATerminal(t *testing.T) {
	b := build(t)
	s := openSession(t, b.vmm)
	before := s.mode(t)
	const prompt = "# "
	s.until(t, prompt)
	if s.mode(t) == before {
		t.Error("the terminal isn't raw")
	}
	s.typed(t, "ls /dev/kvm; stty size; tty\r")
	s.until(t, "/dev/kvm\r\n30 100\r\n/dev/pts/") // bash may send control characters before
	s.until(t, prompt)
	// A new size reaches the program that is in the foreground.
	s.typed(t, "(trap 'stty size; exit' WINCH; echo arm''ed; while :; do sleep 0.1; done)\r")
	s.until(t, "armed")
	s.resize(t, 41, 123)
	s.until(t, "41 123")
	s.until(t, prompt)
	// So does ^C, and the shell stays.
	s.typed(t, "sh -c 'echo be''gun; exec sleep 1000'\r")
	s.until(t, "begun")
	s.typed(t, "\x03")
	s.until(t, prompt)
	s.typed(t, "echo it was $?\r")
	s.until(t, "it was 130")
	s.until(t, prompt)
	// ^D ends it with the last status.
	s.typed(t, "(exit 7)\r")
	s.until(t, prompt)
	s.typed(t, "\x04")
	if code := s.code(t); code != 7 {
		t.Errorf("exit code %d, %q", code, s.seen)
	}
	if after := s.mode(t); after != before {
		t.Errorf("the terminal is left in mode %+v, was %+v", after, before)
	}
	s.tr.nothingIsLeft(t)
}

func TestShellWhoseTerminalIsClosed(t *testing.T) {
	b := build(t)
	s := openSession(t, b.vmm, "--", "sh")
	s.until(t, "# ")
	_ = s.line.Close()
	_ = s.ours.Close()
	if code := s.code(t); code != 128+int(unix.SIGHUP) {
		t.Errorf("exit code %d", code)
	}
	s.tr.nothingIsLeft(t)
}

func TestShellThatIsLeftByTheEscape(t *testing.T) {
	b := build(t)
	s := openSession(t, b.vmm, "--", "sh")
	before := s.mode(t)
	s.until(t, "# ")
	// A program that takes every signal and every key.
	s.typed(t, "trap '' INT HUP TERM QUIT; stty raw; echo de''af; while :; do read x; done\r")
	s.until(t, "deaf")
	s.typed(t, "\x03\r~.")
	if code := s.code(t); code != 128+int(unix.SIGTERM) {
		t.Errorf("exit code %d, %q", code, s.seen)
	}
	if after := s.mode(t); after != before {
		t.Errorf("the terminal is left in mode %+v, was %+v", after, before)
	}
	s.tr.nothingIsLeft(t)
}

func TestShellWithoutATerminal(t *testing.T) {
	b := build(t)
	if _, err := exec.LookPath("ls"); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(b.vmm, "lab", "shell", "--", "sh")
	cmd.Stdin = strings.NewReader("ls /dev/kvm; test -t 0 || exit 5\n")
	if code, out, errs := result(cmd); code != 5 || out != "/dev/kvm\n" || errs != "" {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
}
