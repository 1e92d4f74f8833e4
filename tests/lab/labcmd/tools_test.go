// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestToolsThatAreHereComeAlong(t *testing.T) {
	ls, err := exec.LookPath("ls")
	if err != nil {
		t.Skip("no tools here: ", err)
	}
	notAProgram := filepath.Join(t.TempDir(), "ps")
	if err := os.WriteFile(notAProgram, []byte("text"), 0o755); err != nil {
		t.Fatal(err)
	}
	got := usualTools(func(name string) (string, error) {
		switch name {
		case "ls":
			return ls, nil
		case "ps":
			return notAProgram, nil
		}
		return "", errors.New("not here")
	})
	if !slices.Equal(got, []string{ls}) {
		t.Errorf("%q", got)
	}
}

func TestTheTerminalsDescriptionIsFound(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "lib/terminfo/x")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "xterm"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := terminfo("xterm", root); len(got) != 1 || got[0].To != "/lib/terminfo/x/xterm" || got[0].From != filepath.Join(dir, "xterm") {
		t.Errorf("%+v", got)
	}
	for _, none := range []string{"", "vt52", "../xterm", "x/xterm"} {
		if got := terminfo(none, root); len(got) != 0 {
			t.Errorf("%q: %+v", none, got)
		}
	}
}
