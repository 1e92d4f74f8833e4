// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestWhatRunsAScript(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell here: ", err)
	}
	file := filepath.Join(t.TempDir(), "script")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(env, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		"#!" + sh + "\n": {sh}, "#! " + sh + " -e\nexit": {sh}, "#!" + sh: {sh}, "#!" + env + " sh\n": {env, sh}, "#!" + env + " -S x\n": {env},
		"\x7fELF": nil, "": nil, "#!\n": nil, "text": nil,
	} {
		write(text)
		if got, err := scriptInterpreters(file); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	write("#!" + sh + "\n")
	m := &manifest{seen: map[string]bool{}}
	if err := m.addProgram(file); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{file, sh} {
		if !m.seen[f] {
			t.Errorf("%s is missing", f)
		}
	}
	if m.files[0].Path != file || m.files[0].Mode != 0o755 {
		t.Errorf("first %+v", m.files[0])
	}
}

func TestProgramsThatCannotStart(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		content string
		errno   syscall.Errno
		says    string
	}{
		"text":        {"text", syscall.ENOEXEC, "not an ELF program"},
		"arm64":       {"\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\xb7\x00\x01" + strings.Repeat("\x00", 60), syscall.ENOEXEC, "not an ELF program for x86-64"},
		"interpreter": {"#!/no/such/shell\n", syscall.ENOEXEC, "/no/such/shell"},
		"env":         {"#!/usr/bin/env no-such-shell\n", syscall.ENOEXEC, "no-such-shell"},
	} {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(c.content), 0o755); err != nil {
			t.Fatal(err)
		}
		err := (&manifest{seen: map[string]bool{}}).addProgram(p)
		var e *StartError
		if !errors.As(err, &e) || e.Errno != int(c.errno) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), p) {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := (&manifest{seen: map[string]bool{}}).addProgram(filepath.Join(dir, "none"))
	var e *StartError
	if !errors.As(err, &e) || e.Errno != int(syscall.ENOENT) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}
