// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"xenvmm/tests/lab/kernel"
	"xenvmm/tests/lab/labcmd"
)

// TestExitCodes is the table of `vmm lab exec --help`. One host does for all
// rows that leave it alive; the rows that need none come first.
func TestExitCodes(t *testing.T) {
	b := build(t)
	t.Cleanup(func() { _ = new(labcmd.StopCmd).Run() })
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	const arm64 = "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00\x01"
	foreign := write("foreign", arm64+strings.Repeat("\x00", 100), 0o755)
	test := func(name string) []string { return []string{"--", b.ending, "-test.v", "-test.run", "^" + name + "$"} }
	for _, row := range []struct {
		name   string
		args   []string // of vmm lab exec
		path   string   // PATH, if not ours
		code   int
		says   string // on standard error
		prints string // on standard output
	}{
		{name: "bad flag", args: []string{"--bogus", "--", b.ending}, code: 125, says: "unknown flag --bogus"},
		{name: "no program", code: 125, says: "program"},
		{name: "unknown host", args: []string{"--host", "none", "--", b.ending}, code: 125, says: kernel.Default},
		{name: "a guest's kernel", args: []string{"--host", "debian-6.12-cloud", "--", b.ending}, code: 125, says: "guests"},
		{name: "file missing", args: []string{"--file", "/none", "--", b.ending}, code: 125, says: "/none"},
		{name: "no emulator", args: test("TestPass"), path: dir, code: 125, says: "qemu"},
		{name: "not found", args: []string{"--", dir + "/none"}, code: 127, says: dir + "/none"},
		{name: "not executable", args: []string{"--", write("plain", "x", 0o644)}, code: 126, says: "plain"},
		{name: "no program file", args: []string{"--", write("text", "x", 0o755)}, code: 126, says: "not an ELF program"},
		{name: "another processor", args: []string{"--", foreign}, code: 126, says: "x86-64"},
		{name: "no interpreter", args: []string{"--", write("script", "#!/no/such/shell\n", 0o755)}, code: 126, says: "/no/such/shell"},

		{name: "pass", args: test("TestPass"), code: 0, prints: "--- PASS: TestPass"},
		{name: "fail", args: test("TestFail"), code: 1, prints: "--- FAIL: TestFail"},
		{name: "panic", args: test("TestPanic"), code: 2, says: "panic: on purpose"},
		{name: "exit", args: test("TestExit"), code: 3},
		{name: "killed", args: test("TestKilled"), code: 137, says: "signal 9"},
		{name: "the test's own time limit", args: append(test("TestHang"), "-test.timeout=1s"), code: 2, says: "test timed out after 1s"},
		{name: "time limit", args: append([]string{"--timeout", "1s"}, test("TestHang")...), code: 124, says: "the time limit passed: 1s"},
		{name: "time limit with stack traces", args: append([]string{"--timeout", "1s"}, test("TestHang")...), code: 124, says: "time.Sleep"},
		{name: "time limit of a stubborn program", args: append([]string{"--timeout", "1s"}, test("TestStubborn")...), code: 124, says: "the time limit passed: 1s"},
		{name: "host crash", args: test("TestHostCrash"), code: 255, says: "sysrq triggered crash"},
		{name: "after the crash", args: test("TestPass"), code: 0, prints: "--- PASS: TestPass"},
	} {
		t.Run(row.name, func(t *testing.T) {
			cmd := exec.Command(b.vmm, append([]string{"lab", "exec"}, row.args...)...)
			cmd.Env = os.Environ()
			if row.path != "" {
				// A cache without a server that could have the emulator already.
				cmd.Env = append(cmd.Env, "PATH="+row.path, kernel.CacheEnv+"="+filepath.Join(dir, "cache"))
			}
			code, out, errs := result(cmd)
			if code != row.code || !strings.Contains(errs, row.says) || !strings.Contains(out, row.prints) {
				t.Errorf("exit code %d, want %d; want %q on standard error, %q on standard output\nstandard error: %s\nstandard output: %s",
					code, row.code, row.says, row.prints, errs, out)
			}
			if row.code == 0 && errs != "" {
				t.Errorf("a passing test says %q", errs)
			}
		})
	}
}

// TestAKilledEmulatorIsToldApart from a crash of the host's kernel.
func TestAKilledEmulatorIsToldApart(t *testing.T) {
	b := build(t)
	cmd := exec.Command(b.vmm, "lab", "exec", "--", b.probe, "sayhang")
	var errs strings.Builder
	cmd.Stderr = &errs
	started(t, cmd)
	for pid := range emulators(t, cmd.Process.Pid) {
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != labcmd.CodeLabFailed || !strings.Contains(errs.String(), "the host ended") {
		t.Errorf("exit code %d: %s", code, &errs)
	}
}

// started starts a command and waits until its program says something.
func started(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		_ = cmd.Wait()
		t.Fatalf("the program didn't start: %q, %v, %v", line, err, cmd.Stderr)
	}
}

// TestMoreThanAProgram: a script, its tools, and what they print.
func TestMoreThanAProgram(t *testing.T) {
	b := build(t)
	for _, name := range []string{"sh", "uname", "cat"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nuname -n; cat given; exit $1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	given := filepath.Join(t.TempDir(), "given")
	if err := os.WriteFile(given, []byte("a file\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--tool", "uname", "--tool", "cat", "--file", given + ":given", "--dir", "/work"}
	code, out, errs := result(exec.Command(b.vmm, slices.Concat([]string{"lab", "exec"}, flags, []string{"--", script, fmt.Sprint(6)})...))
	if code != 6 || out != "lab\na file\n" || errs != "" {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
}
