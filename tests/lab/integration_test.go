// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"xenvmm/tests/lab"
	"xenvmm/tests/lab/kernel"
)

// probe builds the program that the tests run in the host.
func probe(t *testing.T, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "probe")
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, args...), "./testdata/probe")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if len(args) > 0 {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the probe: %v: %s", err, msg)
	}
	return out
}

// TestHost boots once and does everything that leaves the host usable.
func TestHost(t *testing.T) {
	h := lab.StartT(t, lab.Config{})
	prog := probe(t)
	run := func(t *testing.T, c lab.Cmd) (lab.ExitStatus, string, string) {
		t.Helper()
		var out, errs bytes.Buffer
		c.Path, c.Stdout, c.Stderr = prog, &out, &errs
		st, err := h.Exec(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return st, out.String(), errs.String()
	}
	t.Run("streams are separate", func(t *testing.T) {
		if st, out, errs := run(t, lab.Cmd{Args: []string{"pass"}}); !st.Success() || out != "to stdout\n" || errs != "to stderr\n" {
			t.Errorf("%v, stdout %q, stderr %q", st, out, errs)
		}
	})
	t.Run("exit code", func(t *testing.T) {
		if st, _, _ := run(t, lab.Cmd{Args: []string{"exit", "3"}}); st.Code != 3 || st.Signal != 0 {
			t.Error(st)
		}
	})
	t.Run("panic", func(t *testing.T) {
		if st, _, errs := run(t, lab.Cmd{Args: []string{"panic"}}); st.Code != 2 || !strings.Contains(errs, "goroutine 1") {
			t.Errorf("%v, stderr %q", st, errs)
		}
	})
	t.Run("signal", func(t *testing.T) {
		if st, _, _ := run(t, lab.Cmd{Args: []string{"killed"}}); st.Signal != syscall.SIGKILL || st.Code != 128+int(syscall.SIGKILL) {
			t.Error(st)
		}
	})
	t.Run("an emulated host's first processor is kept free", func(t *testing.T) {
		want := "2 2 1\n"
		if h.Accel() != lab.AccelEmulator {
			want = "2 2 0\n"
		}
		if st, out, errs := run(t, lab.Cmd{Args: []string{"cpus"}}); !st.Success() || out != want {
			t.Errorf("%v: %q, want %q; %s", st, out, want, errs)
		}
	})
	t.Run("KVM works", func(t *testing.T) {
		if st, out, errs := run(t, lab.Cmd{Args: []string{"kvm"}}); !st.Success() {
			t.Errorf("%v: %s%s", st, out, errs)
		}
	})
	t.Run("a lot of output", func(t *testing.T) {
		var n byteCounter
		st, err := h.Exec(t.Context(), lab.Cmd{Path: prog, Args: []string{"flood", "8"}, Stdout: &n})
		if err != nil || !st.Success() || n.bytes != 8<<20 {
			t.Errorf("%v, %v, %d bytes", st, err, n.bytes)
		}
	})
	t.Run("input comes back", func(t *testing.T) {
		in := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		if st, out, errs := run(t, lab.Cmd{Args: []string{"cat"}, Stdin: bytes.NewReader(in)}); !st.Success() || out != string(in) {
			t.Errorf("%v, %d bytes back, %s", st, len(out), errs)
		}
	})
	t.Run("input nobody reads", func(t *testing.T) {
		if st, _, _ := run(t, lab.Cmd{Args: []string{"pass"}, Stdin: bytes.NewReader(make([]byte, 4<<20))}); !st.Success() {
			t.Error(st)
		}
	})
	t.Run("files in and out", func(t *testing.T) {
		dir := t.TempDir()
		big := bytes.Repeat([]byte{1, 2, 3, 4, 5}, 20<<20) // more than the window
		if err := os.WriteFile(filepath.Join(dir, "big"), big, 0o600); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out")
		st, text, errs := run(t, lab.Cmd{
			Args: []string{"copy", "in/big", "in/small", "/work/result"}, Dir: "/work/place", Dirs: []string{"/work/result"},
			Files: []lab.File{{From: dir, To: "/work/place/in"}, {Data: []byte("little"), To: "/work/place/in/small"}},
			Out:   []lab.Output{{From: "/work/result", To: out}, {From: "/none", To: filepath.Join(out, "none")}},
		})
		if !st.Success() {
			t.Fatalf("%v: %s%s", st, text, errs)
		}
		for name, want := range map[string][]byte{"big": big, "small": []byte("little")} {
			if got, err := os.ReadFile(filepath.Join(out, name)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		}
	})
	t.Run("programs don't see each other's files", func(t *testing.T) {
		if st, _, errs := run(t, lab.Cmd{Args: []string{"touch", "/tmp/left"}}); !st.Success() {
			t.Fatal(errs)
		}
		if st, _, _ := run(t, lab.Cmd{Args: []string{"exists", "/tmp/left"}}); st.Code != 1 {
			t.Error("the file is there for the next program")
		}
	})
	t.Run("descendants end with the program", func(t *testing.T) {
		start := time.Now()
		if st, out, _ := run(t, lab.Cmd{Args: []string{"orphan"}}); !st.Success() || !strings.Contains(out, "left a child") {
			t.Errorf("%v, %q", st, out)
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("waited %v for the child's end", d)
		}
		if st, out, _ := run(t, lab.Cmd{Args: []string{"processes", "orphaned"}}); !st.Success() {
			t.Errorf("still there: %s", out)
		}
	})
	t.Run("time limit", func(t *testing.T) {
		limit := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, limit)
		defer cancel()
		var errs bytes.Buffer
		st, err := h.Exec(ctx, lab.Cmd{Path: prog, Args: []string{"hang"}, Stderr: &errs})
		if !errors.Is(err, limit) || st.Success() || !strings.Contains(errs.String(), "SIGQUIT") {
			t.Errorf("%v, %v, stderr %q", st, err, &errs)
		}
		ctx, cancel = context.WithTimeoutCause(t.Context(), time.Second, limit)
		defer cancel()
		st, err = h.Exec(ctx, lab.Cmd{Path: prog, Args: []string{"stubborn"}, Grace: time.Second})
		if !errors.Is(err, limit) || st.Signal != syscall.SIGKILL {
			t.Errorf("a program that ignores SIGQUIT: %v, %v", st, err)
		}
	})
	t.Run("what can't be started", func(t *testing.T) {
		text := filepath.Join(t.TempDir(), "text")
		if err := os.WriteFile(text, []byte("no program\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Exec(t.Context(), lab.Cmd{Path: text}); !errors.Is(err, lab.ErrNotProgram) {
			t.Error(err)
		}
		if _, err := h.Exec(t.Context(), lab.Cmd{Path: text + "x"}); !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	})
	t.Run("dynamic programs", func(t *testing.T) {
		if _, err := exec.LookPath("gcc"); err != nil {
			t.Skip("no C compiler: ", err)
		}
		var out bytes.Buffer
		st, err := h.Exec(t.Context(), lab.Cmd{Path: probe(t, "-race"), Args: []string{"pass"}, Stdout: &out})
		if err != nil || !st.Success() || out.String() != "to stdout\n" {
			t.Errorf("%v, %v, %q", st, err, &out)
		}
	})
	t.Run("scripts", func(t *testing.T) {
		script := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(script, []byte("#!/bin/sh\necho $1\nexit 4\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		st, err := h.Exec(t.Context(), lab.Cmd{Path: script, Args: []string{"said"}, Stdout: &out})
		if err != nil || st.Code != 4 || out.String() != "said\n" {
			t.Errorf("%v, %v, %q", st, err, &out)
		}
	})
	t.Run("side by side", func(t *testing.T) {
		for _, code := range []string{"11", "12", "13"} {
			t.Run(code, func(t *testing.T) {
				t.Parallel()
				if st, _, _ := run(t, lab.Cmd{Args: []string{"exit", code}}); st.String() != "exit status "+code {
					t.Error(st)
				}
			})
		}
	})
	if line, yes := h.Panicked(); yes {
		t.Error("the host crashed: ", line)
	}
}

type byteCounter struct{ bytes int }

func (c *byteCounter) Write(p []byte) (int, error) {
	c.bytes += len(p)
	return len(p), nil
}

// TestOldestKernel boots the other host: its drivers are modules.
func TestOldestKernel(t *testing.T) {
	h := lab.StartT(t, lab.Config{Kernel: "debian-6.1", CPUs: 1})
	st, err := h.Exec(t.Context(), lab.Cmd{Path: probe(t), Args: []string{"kvm"}, Stdout: os.Stderr, Stderr: os.Stderr})
	if err != nil || !st.Success() {
		t.Errorf("%v, %v", st, err)
	}
	if !strings.HasPrefix(h.Kernel(), "6.1.") {
		t.Errorf("kernel %s", h.Kernel())
	}
}

func TestHostCrash(t *testing.T) {
	h := lab.StartT(t, lab.Config{})
	_, err := h.Exec(t.Context(), lab.Cmd{Path: probe(t), Args: []string{"crash"}})
	e := new(lab.HostError)
	if !errors.As(err, &e) || !strings.Contains(e.Crash, "sysrq triggered crash") || e.EmulatorFault() {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(e.Tail(200), "Call Trace") {
		t.Errorf("console:\n%s", e.Tail(200))
	}
	if _, err := h.Exec(t.Context(), lab.Cmd{Path: probe(t)}); !errors.As(err, &e) {
		t.Errorf("a program for the dead host: %v", err)
	}
}

func TestBootThatFails(t *testing.T) {
	needLab(t)
	_, err := lab.Start(t.Context(), lab.Config{BootLimit: time.Nanosecond})
	if e := new(lab.HostError); !errors.As(err, &e) || !strings.Contains(err.Error(), "not ready") {
		t.Errorf("time limit: %v", err)
	}
	_, err = lab.Start(t.Context(), lab.Config{Devices: []string{"-device", "nonsense"}})
	if e := new(lab.HostError); !errors.As(err, &e) || !strings.Contains(e.Tail(10), "nonsense") {
		t.Errorf("bad device: %v", err)
	}
	if _, err = lab.Start(t.Context(), lab.Config{Modules: []string{"nonsense"}}); err == nil {
		t.Error("unknown module: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = lab.Start(ctx, lab.Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func needLab(t *testing.T) {
	t.Helper()
	if os.Getenv(lab.TestEnv) == "" {
		t.Skipf("boots a lab host: set %s=1, or run make test", lab.TestEnv)
	}
	if _, err := kernel.Setup(t.Context(), "", kernel.SetupOptions{}); err != nil {
		t.Fatal(err)
	}
}
