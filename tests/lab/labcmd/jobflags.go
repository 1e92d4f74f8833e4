// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"xenvmm/tests/lab"
)

// JobFlags say what a program has around it.
type JobFlags struct {
	Env  []string `help:"Environment variable for the program. May be repeated." placeholder:"NAME=VALUE" sep:"none"`
	File []string `help:"File or directory the program needs. May be repeated." placeholder:"SRC[:DST]" sep:"none"`
	Tool []string `help:"Another program that it starts, with the libraries that needs: a path, or a name on the PATH. May be repeated." placeholder:"PROGRAM" sep:"none"`
	Out  []string `help:"File or directory to bring out afterwards. May be repeated." placeholder:"SRC[:DST]" sep:"none"`
	Dir  string   `help:"Working directory of the program; default: the current one's path." placeholder:"PATH"`
}

// command makes the lab's command of a program and its arguments.
func (f JobFlags) command(program string, args []string) (lab.Cmd, error) {
	program, err := findProgram(program)
	if err != nil {
		return lab.Cmd{}, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return lab.Cmd{}, err
	}
	cmd := lab.Cmd{Path: program, Args: args, Dir: dir}
	if f.Dir != "" {
		cmd.Dir = f.Dir
	}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); passed(name) {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "XENVMM_REQUIRE_KVM=1")
	for _, kv := range f.Env {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" {
			return lab.Cmd{}, fmt.Errorf("--env %s: want NAME=VALUE", kv)
		}
		cmd.Env = append(cmd.Env, kv)
	}
	for _, s := range f.File {
		from, to, ok := strings.Cut(s, ":")
		if !ok {
			to = from
		}
		if _, err := os.Stat(from); err != nil {
			return lab.Cmd{}, fmt.Errorf("--file %s: %w", s, err)
		}
		cmd.Files = append(cmd.Files, lab.File{From: from, To: absolute(cmd.Dir, to)})
	}
	for _, t := range f.Tool {
		p, err := findProgram(t)
		if err != nil {
			return lab.Cmd{}, fmt.Errorf("--tool %s: %w", t, notTheProgram(err))
		}
		cmd.Programs = append(cmd.Programs, p)
	}
	for _, o := range f.Out {
		from, to, ok := strings.Cut(o, ":")
		if !ok {
			to = from
		}
		cmd.Out = append(cmd.Out, lab.Output{From: absolute(cmd.Dir, from), To: absolute(dir, to)})
	}
	return cmd, nil
}

// notTheProgram keeps an error's text only: its exit status is for the program.
func notTheProgram(err error) error { return errors.New(err.Error()) }

// findProgram looks a program up as a shell would, and tells before the boot
// of a host what is wrong with it.
func findProgram(name string) (string, error) {
	program, err := exec.LookPath(name)
	if err == nil {
		return program, lab.CheckProgram(program)
	}
	e := &lab.StartError{Path: name, Errno: int(syscall.EACCES), Err: err}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		e.Errno = int(syscall.ENOENT)
	}
	// exec.Error names the program already, with its function before it.
	var lookup *exec.Error
	if errors.As(err, &lookup) {
		err = lookup.Err
	}
	e.Msg = fmt.Sprintf("%s can't be run: %v", name, err)
	return "", e
}
