// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"xenvmm/tests/lab/kernel"
)

func TestTheListShowsWhatIsThere(t *testing.T) {
	t.Setenv(kernel.CacheEnv, t.TempDir())
	var out bytes.Buffer
	if err := (&ListCmd{Files: true}).list(&out); err != nil {
		t.Fatal(err)
	}
	for _, s := range kernel.Specs() {
		use := " guest "
		if s.Host {
			use = " host, guest "
		}
		found := false
		for line := range strings.Lines(out.String()) {
			found = found || strings.HasPrefix(line, s.Name+" ") && strings.Contains(line, use) &&
				strings.Contains(line, "not set up") && strings.Contains(line, s.Summary)
		}
		if !found {
			t.Errorf("%s is missing in\n%s", s.Name, &out)
		}
	}
}

func TestOneKernelThatCannotBeHadDoesNotKeepTheOthersAway(t *testing.T) {
	t.Setenv(kernel.CacheEnv, t.TempDir())
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, kernel.QEMU), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin) // and no apt
	err := new(SetupCmd).Run()
	if err == nil {
		t.Fatal("no error")
	}
	for _, s := range kernel.Specs() {
		if !strings.Contains(err.Error(), "lab host "+s.Name+":") {
			t.Errorf("%s wasn't tried: %v", s.Name, err)
		}
	}
	if err := (&SetupCmd{Deb: "x.deb"}).Run(); err == nil || !strings.Contains(err.Error(), "exactly one") {
		t.Errorf("--deb for all: %v", err)
	}
}
