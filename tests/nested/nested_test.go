// SPDX-License-Identifier: Apache-2.0

package nested

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"xenvmm/tests/lab"
)

const root = "../.."

// packages are those with tests that need KVM, which is in their names.
func packages(t *testing.T) (dirs []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("\nfunc TestKVM")) {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if dir = "./" + dir; err == nil && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		return err
	})
	if err != nil || len(dirs) == 0 {
		t.Fatalf("look for tests that need KVM: %d packages, %v", len(dirs), err)
	}
	return dirs
}

// TestHosts runs the suite on each host, as a user would: with go test -exec.
func TestHosts(t *testing.T) {
	if os.Getenv(lab.TestEnv) == "" {
		t.Skipf("boots lab hosts: set %s=1, or run make nested", lab.TestEnv)
	}
	labexec := filepath.Join(t.TempDir(), "labexec")
	build := exec.Command("go", "build", "-o", labexec, "./tests/lab/labexec")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build labexec: %v\n%s", err, out)
	}
	for _, h := range selected(t) {
		t.Run(h.name, func(t *testing.T) { suite(t, h, labexec) })
	}
}

func suite(t *testing.T, h expectation, labexec string) {
	run := h.run
	if only := os.Getenv("XENVMM_NESTED_RUN"); only != "" {
		run = only
	}
	packages := packages(t)
	args := []string{"test", "-json", "-count=1", "-timeout=20m", "-p=1", "-run", run,
		"-exec", fmt.Sprintf("%q --host %s --env XENVMM_REQUIRE_KVM=1 --", labexec, h.name)}
	cmd := exec.CommandContext(t.Context(), "go", append(args, packages...)...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	read := results(out, func(r result) {
		pkg := strings.TrimPrefix(r.pkg, "xenvmm/")
		ran[pkg] = true
		t.Run(strings.TrimSuffix(pkg+"/"+r.test, "/"), func(t *testing.T) { judge(t, h, r) })
	})
	err = cmd.Wait()
	switch {
	case read != nil:
		t.Error(read)
	case err != nil && !t.Failed():
		t.Errorf("go test: %v\n%s", err, &errs)
	}
	if run == everything {
		for _, p := range packages {
			if !ran[strings.TrimPrefix(p, "./")] {
				t.Errorf("no test of %s ran", p)
			}
		}
	}
}

// otherReason is part of what is said where a guest's way to be interrupted and
// the machine's interrupt controllers do not go together, on any host.
const otherReason = "stopped, as it must be"

// judge repeats a test's verdict, and holds what was skipped against what the
// host has.
func judge(t *testing.T, h expectation, r result) {
	t.Logf("%.2f s there", r.elapsed)
	if r.action == "fail" {
		t.Fatal("\n" + r.output)
	}
	for test, why := range r.skipped {
		if h.xen && needsXen(test) && !strings.Contains(why, otherReason) {
			t.Errorf("%s was skipped on a host whose KVM has Xen support: %s", test, why)
		}
	}
	if needsXen(r.test) && !h.xen && len(r.skipped) == 0 {
		t.Errorf("passed on a host whose KVM has no Xen support")
	}
	if why, whole := r.skipped[r.test]; whole {
		t.Skip(why)
	}
}
