// SPDX-License-Identifier: Apache-2.0

package elfdeps

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestNotAProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	for name, content := range map[string]string{"script": "#!/bin/sh\n", "empty": "", "cut": "\x7fELF\x02\x01\x01"} {
		if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := Closure(file); !errors.Is(err, ErrNotProgram) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Closure(file + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestClosureOfASystemProgram(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell to look at: ", err)
	}
	files, err := Closure(sh)
	if errors.Is(err, ErrNotProgram) || err == nil && len(files) == 0 {
		t.Skipf("%s is not a dynamic program for this machine", sh)
	}
	if err != nil {
		t.Fatal(err)
	}
	var libc bool
	for _, f := range files {
		if _, err := os.Stat(f); err != nil {
			t.Error(err)
		}
		libc = libc || strings.HasPrefix(filepath.Base(f), "libc.")
	}
	if !libc || !strings.Contains(files[0], "ld-") {
		t.Errorf("%s needs %q: want the loader first, and libc", sh, files)
	}
}

// build compiles C for a test, or skips.
func build(t *testing.T, out, source string, args ...string) {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no C compiler: ", err)
	}
	src := out + ".c"
	if err := os.WriteFile(src, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if msg, err := exec.Command(gcc, append([]string{"-o", out, src}, args...)...).CombinedOutput(); err != nil {
		t.Skipf("compile: %v: %s", err, msg)
	}
}

func TestLibrariesAreFoundThroughRunpath(t *testing.T) {
	dir := t.TempDir()
	libs := filepath.Join(dir, "libs")
	if err := os.Mkdir(libs, 0o755); err != nil {
		t.Fatal(err)
	}
	build(t, filepath.Join(libs, "libinner.so"), "int inner(void){return 1;}", "-shared", "-fPIC", "-Wl,-soname,libinner.so")
	build(t, filepath.Join(libs, "libouter.so"), "int inner(void); int outer(void){return inner();}", "-shared", "-fPIC",
		"-Wl,-soname,libouter.so", "-Wl,-rpath,$ORIGIN", "-L"+libs, "-linner")
	prog := filepath.Join(dir, "prog")
	build(t, prog, "int outer(void); int main(void){return outer();}", "-L"+libs, "-louter", "-Wl,-rpath,$ORIGIN/libs", "-Wl,-rpath-link,"+libs)
	files, err := Closure(prog)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(files, "\n")
	for _, want := range []string{filepath.Join(libs, "libouter.so"), filepath.Join(libs, "libinner.so"), "libc.so"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is missing in\n%s", want, all)
		}
	}
	if err := os.Remove(filepath.Join(libs, "libinner.so")); err != nil {
		t.Fatal(err)
	}
	if _, err := Closure(prog); err == nil || !strings.Contains(err.Error(), "libinner.so") || !strings.Contains(err.Error(), "libouter.so") {
		t.Errorf("missing library: %v, want it and who needs it named", err)
	}
}

func TestStaticProgramNeedsNothing(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "static")
	build(t, prog, "int main(void){return 0;}", "-static")
	if files, err := Closure(prog); err != nil || len(files) != 0 {
		t.Errorf("%q, %v", files, err)
	}
}
