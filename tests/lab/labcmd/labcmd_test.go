// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"xenvmm/tests/lab"
	"xenvmm/tests/lab/warm"
)

func TestExitStatuses(t *testing.T) {
	for name, c := range map[string]struct {
		st   lab.ExitStatus
		err  error
		want int
	}{
		"success":        {want: 0},
		"program's own":  {st: lab.ExitStatus{Code: 3}, want: 3},
		"signal":         {st: lab.ExitStatus{Code: 137, Signal: syscall.SIGKILL}, want: 137},
		"timeout":        {err: fmt.Errorf("%w: 1s", errTimeout), want: CodeTimeout},
		"timeout there":  {err: fmt.Errorf("%w: 1s", warm.ErrTimeout), want: CodeTimeout},
		"host hung":      {err: &lab.HostError{Err: fmt.Errorf("%w: 1s", errTimeout)}, want: CodeTimeout},
		"host crash":     {err: &lab.HostError{Crash: "Kernel panic - not syncing"}, want: CodeHostCrashed},
		"crash at limit": {err: &lab.HostError{Crash: "Oops: ", Err: fmt.Errorf("%w: 1s", errTimeout)}, want: CodeHostCrashed},
		"host gone":      {err: &lab.HostError{Doing: "boot"}, want: CodeLabFailed},
		"not found":      {err: &lab.StartError{Errno: int(syscall.ENOENT)}, want: CodeNotFound},
		"not executable": {err: &lab.StartError{Errno: int(syscall.ENOEXEC)}, want: CodeNotExecutable},
		"no permission":  {err: &lab.StartError{Errno: int(syscall.EACCES)}, want: CodeNotExecutable},
		"no memory":      {err: &lab.StartError{Errno: int(syscall.ENOMEM)}, want: CodeLabFailed},
		"no such file":   {err: fmt.Errorf("--file x: %w", os.ErrNotExist), want: CodeLabFailed},
		"interrupted":    {err: warm.Interrupted{Signal: syscall.SIGTERM}, want: 143},
		"anything else":  {err: errors.New("x"), want: CodeLabFailed},
	} {
		var msg bytes.Buffer
		if got := Code(c.st, c.err, &msg); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		if silent := msg.Len() == 0; silent != (c.err == nil && c.st.Signal == 0) {
			t.Errorf("%s: message %q", name, &msg)
		}
	}
}

func TestTestProgramsAreRecognised(t *testing.T) {
	for args, want := range map[string]bool{
		"-test.v=true": true, "--test.run=X": true, "-v": false, "test.v": false, "": false, "x -test.paniconexit0": true,
	} {
		if got := isTest(strings.Fields(args)); got != want {
			t.Errorf("%q: %v", args, got)
		}
	}
}

func TestFilesThatTestFlagsName(t *testing.T) {
	out, dirs := testOutputs([]string{
		"-test.v=true", "-test.coverprofile=/w/b001/_cover_.out", "-test.outputdir=/o", "-test.cpuprofile=cpu.out",
		"-test.gocoverdir=/w/b001/gocoverdir", "-test.trace=", "-test.run=x=y",
	}, "/pkg")
	var got []string
	for _, o := range out {
		if o.From != o.To {
			t.Errorf("%s goes to %s", o.From, o.To)
		}
		got = append(got, o.From)
	}
	if want := []string{"/w/b001/_cover_.out", "/o/cpu.out", "/w/b001/gocoverdir"}; !slices.Equal(got, want) {
		t.Errorf("outputs %q, want %q", got, want)
	}
	if want := []string{"/o", "/w/b001", "/o", "/w/b001/gocoverdir"}; !slices.Equal(dirs, want) {
		t.Errorf("directories %q, want %q", dirs, want)
	}
}

func TestFilesAroundAPackage(t *testing.T) {
	mod := t.TempDir()
	pkg := filepath.Join(mod, "a", "b")
	for _, f := range []string{"go.mod", "go.sum", "other/x.go", "a/b/x.go", "a/b/testdata/y", "a/b/c/z.go"} {
		p := filepath.Join(mod, f)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(pkg, "big.test"), make([]byte, maxPackageFile+1), 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := packageFiles(pkg)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		rel, err := filepath.Rel(mod, f.From)
		if err != nil || f.From != f.To {
			t.Errorf("%+v, %v", f, err)
		}
		got = append(got, rel)
	}
	slices.Sort(got)
	if want := []string{"a/b/testdata", "a/b/x.go", "go.mod", "go.sum"}; !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
}

func TestHowLongAHostStays(t *testing.T) {
	for _, c := range []struct {
		keep    string
		program string
		want    time.Duration
		bad     bool
	}{
		{"auto", "x", 0, false}, {"auto", "x.test -test.v", keepForTests, false}, {"0", "x.test -test.v", 0, false},
		{"5s", "x", 5 * time.Second, false}, {"-1s", "x", 0, true}, {"soon", "x", 0, true},
	} {
		e := &ExecCmd{Keep: c.keep, Program: strings.Fields(c.program)}
		if got, err := e.keep(); got != c.want || (err != nil) != c.bad {
			t.Errorf("%s for %s: %v, %v", c.keep, c.program, got, err)
		}
	}
}

func TestCommandLine(t *testing.T) {
	t.Setenv("GODEBUG", "x=1")
	t.Setenv("SECRET", "no")
	t.Setenv("GOCOVERDIR", "")
	t.Chdir(t.TempDir())
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var c ExecCmd
	err = parse(&c, []string{"--cpus", "4", "--env", "A=b,c", "--file", "data:/opt/data", "--out", "result", "--", "/bin/sh", "-c", "--env"})
	if err != nil {
		t.Fatal(err)
	}
	c.Program = withoutDashes(c.Program)
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("no shell here: ", err)
	}
	if err := os.WriteFile("data", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd, err := c.command(c.Program[0], c.Program[1:])
	if err != nil {
		t.Fatal(err)
	}
	if c.CPUs != 4 || c.Memory != 2048 || cmd.Path != "/bin/sh" || !slices.Equal(cmd.Args, []string{"-c", "--env"}) || cmd.Dir != dir {
		t.Errorf("%+v", cmd)
	}
	for _, kv := range []string{"A=b,c", "GODEBUG=x=1", "XENVMM_REQUIRE_KVM=1"} {
		if !slices.Contains(cmd.Env, kv) {
			t.Errorf("%s is missing in %q", kv, cmd.Env)
		}
	}
	if slices.Contains(cmd.Env, "SECRET=no") {
		t.Error("the whole environment is passed on")
	}
	if len(cmd.Files) != 1 || cmd.Files[0].From != "data" || cmd.Files[0].To != "/opt/data" {
		t.Errorf("files %+v", cmd.Files)
	}
	if want := filepath.Join(dir, "result"); len(cmd.Out) != 1 || cmd.Out[0].From != want || cmd.Out[0].To != want {
		t.Errorf("outputs %+v", cmd.Out)
	}
	for name, bad := range map[string]JobFlags{
		"--env without a value": {Env: []string{"novalue"}}, "a --file that isn't there": {File: []string{"nothing"}},
		"a --tool that isn't there": {Tool: []string{"/nothing"}},
	} {
		_, err := bad.command("/bin/sh", nil)
		if err == nil || Code(lab.ExitStatus{}, err, io.Discard) != CodeLabFailed {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range [][]string{{"--memory", "much"}, {"--nic", "user,vga"}, {"--nic", "hub=x"}, {"--nic", "hub=0"}, {"--accel", "fpga"}, {"--unknown"}} {
		if err := parse(&ExecCmd{}, append(bad, "--", "x")); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

func TestTheHelpNamesEveryCode(t *testing.T) {
	for _, c := range []int{CodeTimeout, CodeLabFailed, CodeNotExecutable, CodeNotFound, CodeSignal, CodeHostCrashed} {
		if !strings.Contains(exitHelp, fmt.Sprintf("\n  %d ", c)) && !strings.Contains(exitHelp, fmt.Sprintf("\n  %d+N ", c)) {
			t.Errorf("%d is missing in\n%s", c, exitHelp)
		}
	}
}

func TestHostFlagsComeThroughToTheServer(t *testing.T) {
	var c, again ExecCmd
	given := []string{"--host", "debian-6.1", "--cpus", "3", "--memory", "1G", "--accel", "tcg", "--nic", "user", "--nic", "hub=2,model=e1000,vfio", "--module", "tun"}
	if err := parse(&c, append(given, "--", "x")); err != nil {
		t.Fatal(err)
	}
	cfg := c.config("/init")
	if cfg.Kernel != "debian-6.1" || cfg.CPUs != 3 || cfg.MemoryMiB != 1024 || cfg.Accel != lab.AccelEmulator || cfg.Init != "/init" ||
		!slices.Equal(cfg.NICs, []lab.NIC{{}, {Hub: 2, Model: "e1000", VFIO: true}}) || !slices.Equal(cfg.Modules, []string{"tun"}) {
		t.Errorf("%+v", cfg)
	}
	if err := parse(&again, append(c.args(), "--", "x")); err != nil {
		t.Fatal(err)
	}
	if got := again.args(); !slices.Equal(got, c.args()) {
		t.Errorf("%q becomes %q", c.args(), got)
	}
}

func TestAmountsOfMemory(t *testing.T) {
	for text, want := range map[string]int{"2048": 2048, "512M": 512, "512MiB": 512, "2G": 2048, "3gb": 3072, "1T": 1 << 20} {
		var m mib
		if err := m.UnmarshalText([]byte(text)); err != nil || int(m) != want {
			t.Errorf("%s: %d, %v", text, m, err)
		}
	}
	for _, bad := range []string{"", "G", "1.5G", "-1", "2X", "2GG", "99999999999"} {
		var m mib
		if err := m.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is %d MiB", bad, m)
		}
	}
}

func TestProgramsThatAreNotThere(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{
		filepath.Join(dir, "none"): CodeNotFound, "no-such-program-anywhere": CodeNotFound, file: CodeNotExecutable, dir: CodeNotExecutable,
	} {
		_, err := findProgram(name)
		var msg bytes.Buffer
		if got := Code(lab.ExitStatus{}, err, &msg); got != want || !strings.Contains(msg.String(), name) {
			t.Errorf("%s: %d, %q", name, got, &msg)
		}
	}
}
