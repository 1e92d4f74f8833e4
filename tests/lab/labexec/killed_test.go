// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"xenvmm/tests/lab/kernel"
)

// trace finds what a command starts and leaves: its processes, by an
// environment variable they inherit, and files where it may put them.
type trace struct {
	tmp, cache string
	before     []string
}

func newTrace(t *testing.T, cmd *exec.Cmd) *trace {
	t.Helper()
	tr := &trace{tmp: t.TempDir(), cache: os.Getenv(kernel.CacheEnv)}
	cmd.Env = append(os.Environ(), "TMPDIR="+tr.tmp)
	tr.before = tr.files(t)
	return tr
}

// files lists everything in the temporary directory and the cache; of shared
// hosts' servers, whose files stay by design, only sockets in use would matter.
func (tr *trace) files(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, dir := range []string{tr.tmp, tr.cache} {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && d.Name() == "run" {
				return fs.SkipDir
			}
			out = append(out, p)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// processes are those of the command that are alive, by the name of what they
// run. A child has its parent's environment until it runs something else.
func (tr *trace) processes() map[int]string {
	out := map[int]string{}
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range environs {
		env, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(env, []byte("TMPDIR="+tr.tmp+"\x00")) {
			continue
		}
		var pid int
		exe, err := os.Readlink(filepath.Join(filepath.Dir(f), "exe"))
		if _, e := fmt.Sscan(filepath.Base(filepath.Dir(f)), &pid); err == nil && e == nil {
			out[pid] = filepath.Base(exe)
		}
	}
	return out
}

// patient is how long a busy machine may take over anything.
const patient = time.Minute

// await polls: there is nothing to wait on for processes that aren't ours.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); !cond(); <-tick.C {
		if time.Since(begin) > patient {
			t.Fatal("still waiting for ", what)
		}
	}
}

func (tr *trace) awaitEmulator(t *testing.T) {
	t.Helper()
	await(t, "the emulator", func() bool {
		for _, name := range tr.processes() {
			if strings.Contains(name, "qemu") {
				return true
			}
		}
		return false
	})
}

func (tr *trace) nothingIsLeft(t *testing.T) {
	t.Helper()
	await(t, "the end of all processes", func() bool { return len(tr.processes()) == 0 })
	if after := tr.files(t); !slices.Equal(after, tr.before) {
		t.Errorf("files before %q, after %q", tr.before, after)
	}
}

// TestNothingOutlivesTheCommand kills `vmm lab exec` at every stage, in every
// way. A shared host, which a Go test program gets, goes too: nobody else
// wants it.
func TestNothingOutlivesTheCommand(t *testing.T) {
	b := build(t)
	alone := []string{"--", b.probe, "sayhang"}
	shared := []string{"--", b.ending, "-test.v", "-test.run", "^TestHang$"}
	at := map[string]func(t *testing.T, tr *trace, out *os.File){
		"start": func(*testing.T, *trace, *os.File) {},
		"boot":  func(t *testing.T, tr *trace, _ *os.File) { tr.awaitEmulator(t) },
		"run": func(t *testing.T, _ *trace, out *os.File) {
			if n, err := out.Read(make([]byte, 100)); n == 0 {
				t.Fatal("the program didn't start: ", err)
			}
		},
	}
	type row struct {
		args  []string
		stage string
		sig   syscall.Signal
	}
	var rows []row
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		for _, stage := range []string{"start", "boot", "run"} {
			rows = append(rows, row{alone, stage, sig})
		}
	}
	rows = append(rows, row{shared, "start", syscall.SIGKILL}, row{shared, "boot", syscall.SIGKILL}, row{shared, "boot", syscall.SIGTERM},
		row{shared, "run", syscall.SIGKILL}, row{shared, "run", syscall.SIGINT})
	for _, r := range rows {
		host := "own"
		if len(r.args) == len(shared) {
			host = "shared"
		}
		t.Run(fmt.Sprintf("%s host, %s, %v", host, r.stage, r.sig), func(t *testing.T) {
			cmd := exec.Command(b.vmm, append([]string{"lab", "exec"}, r.args...)...)
			tr := newTrace(t, cmd)
			out, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			var errs strings.Builder
			cmd.Stdout, cmd.Stderr = w, &errs
			err = cmd.Start()
			_ = w.Close()
			if err != nil {
				t.Fatal(err)
			}
			at[r.stage](t, tr, out)
			if err := cmd.Process.Signal(r.sig); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait()
			// Who wasn't ready to catch a signal yet died of it.
			code := cmd.ProcessState.ExitCode()
			if st := cmd.ProcessState.Sys().(syscall.WaitStatus); st.Signaled() {
				code = 128 + int(st.Signal())
			}
			if code != 128+int(r.sig) {
				t.Errorf("exit code %d: %s", code, &errs)
			}
			tr.nothingIsLeft(t)
		})
	}
}
