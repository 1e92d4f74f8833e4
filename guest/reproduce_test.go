// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The compiler and linker that built what is in bin (Debian 12).
const (
	builtWithGCC = "12.2.0"
	builtWithLD  = "2.40"
)

// TestRebuildingGivesTheSameBytes builds all guests in another place and from
// another path, and compares.
func TestRebuildingGivesTheSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles all guests: not in short mode")
	}
	requireTools(t)
	copied := filepath.Join(t.TempDir(), "a longer path")
	for _, dir := range []string{"lib", "tests", "internal"} {
		if err := os.CopyFS(filepath.Join(copied, dir), os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}
	out := t.TempDir()
	tool := filepath.Join(t.TempDir(), "build")
	if b, err := exec.Command("go", "build", "-o", tool, "./internal/build").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, b)
	}
	cmd := exec.Command(tool, "-o", out)
	cmd.Dir = copied
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, b)
	}
	for _, name := range Names() {
		want, _ := Image(name)
		got, err := os.ReadFile(filepath.Join(out, name+".elf"))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s: the committed image is not what the sources give; run go generate ./guest", name)
		}
	}
}

// requireTools skips where another compiler or linker would make other bytes.
func requireTools(t *testing.T) {
	t.Helper()
	gcc, err := exec.Command("gcc", "-dumpfullversion").Output()
	if err != nil {
		t.Skipf("no gcc: %v", err)
	}
	if v := strings.TrimSpace(string(gcc)); v != builtWithGCC {
		t.Skipf("gcc is %s, the images were built with %s", v, builtWithGCC)
	}
	ld, err := exec.Command("ld", "--version").Output()
	if err != nil {
		t.Skipf("no ld: %v", err)
	}
	if line, _, _ := strings.Cut(string(ld), "\n"); !strings.HasSuffix(strings.TrimSpace(line), builtWithLD) {
		t.Skipf("linker is %s, the images were built with binutils %s", line, builtWithLD)
	}
}
