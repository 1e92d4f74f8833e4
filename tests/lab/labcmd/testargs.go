// SPDX-License-Identifier: Apache-2.0

package labcmd

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"xenvmm/tests/lab"
)

// A test program made by `go test` writes files named by its flags and expects
// its package's directory around it. These are the flags, as go test passes
// them.
var outputFlags = map[string]bool{
	"coverprofile": true, "cpuprofile": true, "memprofile": true, "blockprofile": true, "mutexprofile": true,
	"trace": true, "testlogfile": true,
}

var outputDirFlags = map[string]bool{"gocoverdir": true}

// isTest tells whether args are those of a test program.
func isTest(args []string) bool {
	for _, a := range args {
		if strings.HasPrefix(a, "-") && strings.HasPrefix(strings.TrimLeft(a, "-"), "test.") {
			return true
		}
	}
	return false
}

// testFlag splits "-test.name=value".
func testFlag(arg string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(strings.TrimLeft(arg, "-"), "=")
	name, isTest := strings.CutPrefix(name, "test.")
	return name, value, ok && isTest && value != ""
}

// testOutputs lists the files and directories that a test program with these
// arguments, in dir, will write, and the directories it expects.
func testOutputs(args []string, dir string) (out []lab.Output, dirs []string) {
	base := dir
	for _, a := range args {
		if name, value, ok := testFlag(a); ok && name == "outputdir" {
			base = absolute(dir, value)
			dirs = append(dirs, base)
		}
	}
	for _, a := range args {
		name, value, ok := testFlag(a)
		if !ok {
			continue
		}
		switch {
		case outputFlags[name]:
			p := absolute(base, value)
			out = append(out, lab.Output{From: p, To: p})
			dirs = append(dirs, path.Dir(p))
		case outputDirFlags[name]:
			p := absolute(dir, value)
			out = append(out, lab.Output{From: p, To: p})
			dirs = append(dirs, p)
		}
	}
	return out, dirs
}

func absolute(dir, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

// passed tells which of our environment variables a program gets too: those
// that steer the Go runtime and tests, none that describe this machine.
func passed(name string) bool {
	switch name {
	case "GODEBUG", "GORACE", "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GOTRACEBACK", "GOCOVERDIR", "TZ", "LANG", "TERM", "CI":
		return true
	}
	return strings.HasPrefix(name, "XENVMM_") && !strings.HasPrefix(name, "XENVMM_LAB")
}

// addTestFiles gives a test program what it expects around it, and brings out
// what it writes. A program built with -cover has its data brought out, too.
func addTestFiles(cmd *lab.Cmd) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if isTest(cmd.Args) {
		out, dirs := testOutputs(cmd.Args, dir)
		cmd.Out, cmd.Dirs = append(cmd.Out, out...), append(cmd.Dirs, dirs...)
		files, err := packageFiles(dir)
		if err != nil {
			return err
		}
		cmd.Files = append(cmd.Files, files...)
	}
	if cover := os.Getenv("GOCOVERDIR"); cover != "" {
		cover = absolute(dir, cover)
		cmd.Dirs = append(cmd.Dirs, cover)
		cmd.Out = append(cmd.Out, lab.Output{From: cover, To: cover})
		cmd.Env = append(cmd.Env, "GOCOVERDIR="+cover)
	}
	return nil
}
