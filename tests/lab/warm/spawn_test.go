// SPDX-License-Identifier: Apache-2.0

package warm

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"xenvmm/tests/lab"
	"xenvmm/tests/lab/kernel"
)

func TestOldLeftoversAreSwept(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * unused)
	for _, key := range []string{"own", "old", "new", "busy"} {
		for _, ext := range []string{".lock", ".log"} {
			p := address{dir, key}.file(ext)
			if err := os.WriteFile(p, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if key != "new" {
				if err := os.Chtimes(p, old, old); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	l, err := net.Listen("unix", filepath.Join(dir, "busy.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sweep(t.Context(), address{dir, "own"})
	left, err := filepath.Glob(filepath.Join(dir, "*.lock"))
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range left {
		left[i] = strings.TrimSuffix(filepath.Base(p), ".lock")
	}
	if got := strings.Join(left, " "); got != "busy new own" {
		t.Errorf("left are %q", got)
	}
}

func TestServersAreTheConfigurationsOwn(t *testing.T) {
	t.Setenv(kernel.CacheEnv, t.TempDir())
	prog := filepath.Join(t.TempDir(), "prog")
	write := func(s string) {
		if err := os.WriteFile(prog, []byte(s), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]string{}
	add := func(what string, cfg lab.Config) {
		a, err := addressOf(cfg, prog)
		if err != nil {
			t.Fatal(err)
		}
		if other, dup := seen[a.key]; dup {
			t.Errorf("%s has the address of %s", what, other)
		}
		seen[a.key] = what
	}
	write("one")
	add("plain", lab.Config{})
	add("CPUs", lab.Config{CPUs: 4})
	add("memory", lab.Config{MemoryMiB: 4096})
	add("kernel", lab.Config{Kernel: "debian-6.1"})
	add("modules", lab.Config{Modules: []string{"tun"}})
	write("two")
	add("another program", lab.Config{})
	write("one")
	a, err := addressOf(lab.Config{}, prog)
	if err != nil || seen[a.key] != "plain" {
		t.Errorf("the same again: %v, %v", seen[a.key], err)
	}
}

func TestAServerThatDoesNotStartIsExplained(t *testing.T) {
	t.Setenv(kernel.CacheEnv, t.TempDir())
	prog := filepath.Join(t.TempDir(), "prog")
	if err := os.WriteFile(prog, []byte("#!/bin/sh\necho the reason >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := &Client{Program: prog, Keep: time.Second}
	_, err := c.Exec(t.Context(), lab.Cmd{Path: "/x"}, 0)
	if err == nil || !strings.Contains(err.Error(), "the reason") {
		t.Errorf("%v, want what the server said", err)
	}
}
