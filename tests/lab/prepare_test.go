// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"xenvmm/tests/lab/kernel"
)

func TestTreesAreListed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "1", "sub/b": "22", "sub/deep/c": ""} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	m := &manifest{seen: map[string]bool{}}
	for _, f := range []File{{From: dir, To: "/t"}, {Data: []byte("later"), To: "/t/a"}, {Data: []byte("x"), To: "/new", Mode: 0o755}} {
		if err := m.add(f); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for i, f := range m.files {
		got = append(got, f.Path+f.Link)
		if f.Path == "/t/a" && m.sources[i].path == "" {
			t.Error("the later file of the same path won")
		}
	}
	slices.Sort(got)
	if want := "/new /t/a /t/linka /t/sub/b /t/sub/deep/c"; strings.Join(got, " ") != want {
		t.Errorf("files %q, want %s", got, want)
	}
	if want := "/t /t/sub /t/sub/deep"; strings.Join(m.dirs, " ") != want {
		t.Errorf("directories %q", m.dirs)
	}
	for _, bad := range []File{{To: "relative"}, {From: filepath.Join(dir, "none"), To: "/x"}, {From: os.DevNull, To: "/x"}} {
		if err := m.add(bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

func TestTooMuchIsRefused(t *testing.T) {
	big := filepath.Join(t.TempDir(), "sparse")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m := &manifest{seen: map[string]bool{}, size: maxTree}
	if err := m.add(File{Data: []byte("x"), To: "/x"}); err == nil {
		t.Error("no error")
	}
	if err := m.add(File{From: big, To: "/empty"}); err != nil {
		t.Error(err)
	}
}

func TestEnvironmentIsCompleted(t *testing.T) {
	got := withBasics([]string{"HOME=/x", "A=b"})
	if !slices.Contains(got, "HOME=/x") || slices.Contains(got, "HOME=/root") || !slices.Contains(got, "XENVMM_IN_LAB=1") {
		t.Errorf("%q", got)
	}
	if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "PATH=/") }) {
		t.Errorf("no PATH in %q", got)
	}
}

func TestConfigIsChecked(t *testing.T) {
	c, err := Config{}.withDefaults()
	if err != nil || c.CPUs != 2 || c.MemoryMiB != 2048 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, bad := range []Config{{CPUs: -1}, {CPUs: 17}, {MemoryMiB: 1}, {MemoryMiB: 1 << 30}} {
		if _, err := bad.withDefaults(); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
	args := strings.Join(qemuArgs(c, &kernel.Kernel{Dir: "/k"}, emulated), " ")
	for _, want := range []string{"-kernel /k/vmlinux", "-accel tcg", "-cpu max,family=23,model=49,stepping=0 ", "-smp 3", "-m 2048", "rdinit=/init", "oops=panic", "ivshmem-plain"} {
		if !strings.Contains(args, want) {
			t.Errorf("%s is missing in %s", want, args)
		}
	}
}
