// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"xenvmm/tests/lab"
	"xenvmm/tests/lab/kernel"
	"xenvmm/tests/lab/labcmd"
)

// built holds the programs of these tests.
type built struct{ labexec, vmm, probe, ending string }

// build compiles the commands and what they run, and gives the test a cache of
// its own with the kernel of the user's, so that shared hosts don't mix.
func build(t *testing.T) built {
	t.Helper()
	if os.Getenv(lab.TestEnv) == "" {
		t.Skipf("boots lab hosts: set %s=1, or run make test", lab.TestEnv)
	}
	k, err := kernel.Setup(t.Context(), "", kernel.SetupOptions{Note: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	// A long name: sockets must cope.
	cache := filepath.Join(t.TempDir(), strings.Repeat("long-name-", 12))
	if err := os.MkdirAll(filepath.Join(cache, "kernels"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(k.Dir, filepath.Join(cache, "kernels", k.Name)); err != nil {
		t.Fatal(err)
	}
	t.Setenv(kernel.CacheEnv, cache)
	dir := t.TempDir()
	b := built{filepath.Join(dir, "labexec"), filepath.Join(dir, "vmm"), filepath.Join(dir, "probe"), filepath.Join(dir, "ending.test")}
	for _, args := range [][]string{
		{"build", "-o", b.labexec, "."},
		{"build", "-o", b.vmm, "xenvmm/cmd/vmm"},
		{"build", "-o", b.probe, "../testdata/probe"},
		{"test", "-c", "-o", b.ending, "./testdata/ending"},
	} {
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %q: %v: %s", args, err, msg)
		}
	}
	return b
}

// run runs labexec with the probe's arguments behind flags.
func (b built) run(flags []string, probe ...string) (code int, stdout, stderr string) {
	return result(exec.Command(b.labexec, slices.Concat(flags, []string{"--", b.probe}, probe)...))
}

// result runs a command to its end.
func result(cmd *exec.Cmd) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var x *exec.ExitError
	if err != nil && !errors.As(err, &x) {
		return -1, "", err.Error()
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// emulators lists the emulators below a process, as pidfds.
func emulators(t *testing.T, below int) map[int]int {
	t.Helper()
	out := map[int]int{}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", below))
	for _, f := range files {
		p, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for _, s := range strings.Fields(string(p)) {
			var pid int
			if _, err := fmt.Sscan(s, &pid); err != nil {
				continue
			}
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				continue
			}
			exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
			if err != nil || !strings.Contains(exe, "qemu") {
				_ = unix.Close(fd)
				continue
			}
			out[pid] = fd
			t.Cleanup(func() { _ = unix.Close(fd) })
		}
	}
	return out
}

// waitGone waits for the end of a process.
func waitGone(t *testing.T, pid, fd int) {
	t.Helper()
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 60_000)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			t.Fatalf("process %d is still there (%v)", pid, err)
		}
		return
	}
}

func TestExitStatusAndStreams(t *testing.T) {
	b := build(t)
	if code, out, errs := b.run(nil, "pass"); code != 0 || out != "to stdout\n" || errs != "to stderr\n" {
		t.Errorf("pass: %d, stdout %q, stderr %q", code, out, errs)
	}
	if code, _, errs := b.run([]string{"--timeout", "1s"}, "hang"); code != labcmd.CodeTimeout || !strings.Contains(errs, "time limit") {
		t.Errorf("timeout: %d, %q", code, errs)
	}
	if code, _, errs := b.run(nil, "crash"); code != labcmd.CodeHostCrashed || !strings.Contains(errs, "sysrq triggered crash") {
		t.Errorf("crash: %d, %q", code, errs)
	}
	if code, _, errs := b.run([]string{"--host", "none"}, "pass"); code != labcmd.CodeLabFailed || !strings.Contains(errs, kernel.Default) {
		t.Errorf("unknown host: %d, %q", code, errs)
	}
}

func TestSharedHost(t *testing.T) {
	b := build(t)
	t.Cleanup(func() { stopAll(t) })
	shared := []string{"--keep", "5m"}
	start := time.Now()
	if code, out, errs := b.run(shared, "pass"); code != 0 || out != "to stdout\n" || errs != "to stderr\n" {
		t.Fatalf("first: %d, stdout %q, stderr %q", code, out, errs)
	}
	first := time.Since(start)
	start = time.Now()
	var wg sync.WaitGroup
	for _, want := range []int{11, 12, 13} {
		wg.Go(func() {
			if code, _, errs := b.run(shared, "exit", fmt.Sprint(want)); code != want {
				t.Errorf("exit %d: %d, %q", want, code, errs)
			}
		})
	}
	wg.Wait()
	t.Logf("the first program took %v, three more %v", first, time.Since(start))
	if n := len(servers(t)); n != 1 {
		t.Errorf("%d servers", n)
	}
	if code, _, errs := b.run(shared, "crash"); code != labcmd.CodeHostCrashed || !strings.Contains(errs, "sysrq triggered crash") {
		t.Errorf("crash: %d, %q", code, errs)
	}
	if code, _, errs := b.run(shared, "pass"); code != 0 {
		t.Errorf("after the crash: %d, %q", code, errs)
	}
	// The server is killed: its host ends, and the next program has another.
	for _, pid := range servers(t) {
		found := emulators(t, pid)
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for e, fd := range found {
			waitGone(t, e, fd)
		}
	}
	if code, _, errs := b.run(shared, "pass"); code != 0 {
		t.Errorf("after the server was killed: %d, %q", code, errs)
	}
	// The client is killed: its program ends.
	cmd := exec.Command(b.labexec, "--keep", "5m", "--", b.probe, "sayhang")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal("the program didn't start:", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code, _, errs := b.run(shared, "processes", "sayhang"); code != 0 {
		t.Errorf("the killed client's program is still there: %q", errs)
	}
}

// servers lists the processes that serve hosts of this test's cache.
func servers(t *testing.T) []int {
	t.Helper()
	var out []int
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		env, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(env, []byte(kernel.CacheEnv+"="+os.Getenv(kernel.CacheEnv)+"\x00")) {
			continue
		}
		args, err := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		if err != nil || !bytes.Contains(args, []byte("--serve-shared-host")) {
			continue
		}
		var pid int
		if _, err := fmt.Sscan(filepath.Base(filepath.Dir(f)), &pid); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

func stopAll(t *testing.T) {
	var hosts []int
	for _, pid := range servers(t) {
		for e, fd := range emulators(t, pid) {
			hosts = append(hosts, e)
			defer waitGone(t, e, fd)
		}
	}
	if err := new(labcmd.StopCmd).Run(); err != nil {
		t.Error(err)
	}
	if len(hosts) == 0 {
		t.Error("no shared host was left to stop")
	}
}
