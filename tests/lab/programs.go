// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"xenvmm/tests/lab/elfdeps"
)

// CheckProgram tells, without a host, whether a program can be run in one: it
// is there, for this processor, and so is what it needs to start. The error is
// a *StartError.
func CheckProgram(program string) error {
	_, err := programFiles(program)
	return err
}

// programFiles returns a program and all it takes to start it: interpreter and
// libraries, or what runs a script.
func programFiles(program string) ([]string, error) {
	interpreters, err := scriptInterpreters(program)
	if err != nil {
		return nil, cannotStart(program, err)
	}
	binaries, files := []string{program}, []string(nil)
	if len(interpreters) > 0 {
		binaries, files = interpreters, []string{program}
	}
	for _, b := range binaries {
		libs, err := elfdeps.Closure(b)
		if err != nil {
			return nil, cannotStart(program, err)
		}
		files = append(append(files, b), libs...)
	}
	return files, nil
}

// addProgram adds a program's files.
func (m *manifest) addProgram(program string) error {
	files, err := programFiles(program)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := m.add(File{From: f, To: f, Mode: 0o755}); err != nil {
			return err
		}
	}
	return nil
}

// maxShebang bounds a script's first line, as the kernel does.
const maxShebang = 256

// scriptInterpreters returns the programs that a script's first line names:
// its interpreter, and behind env(1) also what that starts. Programs that
// aren't scripts have none.
func scriptInterpreters(file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, maxShebang)).ReadString('\n')
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	words, script := strings.CutPrefix(line, "#!")
	fields := strings.Fields(words)
	if !script || len(fields) == 0 {
		return nil, nil
	}
	out := fields[:1]
	if filepath.Base(fields[0]) == "env" && len(fields) > 1 && !strings.HasPrefix(fields[1], "-") {
		p, err := exec.LookPath(fields[1])
		if err != nil {
			return nil, fmt.Errorf("the script's interpreter %s: %w", fields[1], elfdeps.ErrLibrary)
		}
		out = append(out, p)
	}
	if _, err := os.Stat(out[0]); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the script's interpreter %s: %w", out[0], elfdeps.ErrLibrary)
	}
	return out, nil
}
