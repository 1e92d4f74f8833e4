// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// compileFlags leave the compiler no choice that depends on the machine or on
// where the checkout lies.
var compileFlags = []string{
	"-c", "-m64", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror",
	"-ffreestanding", "-fno-builtin", "-fno-pic", "-fno-pie", "-mcmodel=small",
	"-mno-red-zone", "-mgeneral-regs-only", "-march=x86-64", "-mtune=generic",
	"-fno-stack-protector", "-fcf-protection=none", "-fno-asynchronous-unwind-tables",
	"-ffunction-sections", "-fdata-sections", "-fno-ident", "-g0",
}

var linkFlags = []string{
	"-m64", "-nostdlib", "-static", "-no-pie", "-s",
	"-Wl,--build-id=none", "-Wl,--gc-sections", "-Wl,-z,max-page-size=4096",
	"-Wl,-z,noexecstack", "-Wl,--no-warn-rwx-segments", "-Wl,--fatal-warnings",
}

// builder knows where the sources are and where objects may go.
type builder struct {
	root, tmp string
}

// library compiles what all guests share. The sources that hold the test's name
// are left out: they are compiled for each guest.
func (b *builder) library() ([]string, error) {
	sources, err := b.sources(false)
	if err != nil {
		return nil, err
	}
	var objects []string
	for _, s := range sources {
		o := filepath.Join(b.tmp, filepath.Base(s)+".o")
		if err := b.compile(s, o); err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// sources lists the library's files, in the order they are linked.
func (b *builder) sources(named bool) ([]string, error) {
	var all []string
	for _, pattern := range []string{"*.S", "*.c"} {
		m, err := filepath.Glob(filepath.Join(b.root, "lib", pattern))
		if err != nil {
			return nil, err
		}
		all = append(all, m...)
	}
	return slices.DeleteFunc(all, func(s string) bool {
		base := filepath.Base(s)
		return (base == "start.S" || base == "main.c") != named
	}), nil
}

// guest compiles tests/name/*.c and links them with the library.
func (b *builder) guest(name string, lib []string, out string) error {
	named, err := b.sources(true)
	if err != nil {
		return err
	}
	own, err := filepath.Glob(filepath.Join(b.root, "tests", name, "*.c"))
	if err != nil {
		return err
	}
	if len(own) == 0 {
		return fmt.Errorf("no C file in %s", filepath.Join(b.root, "tests", name))
	}
	var objects []string
	for i, s := range append(named, own...) {
		o := filepath.Join(b.tmp, fmt.Sprintf("%s.%d.o", name, i))
		if err := b.compile(s, o, `-DTEST_NAME="`+name+`"`); err != nil {
			return err
		}
		objects = append(objects, o)
	}
	args := slices.Concat(linkFlags, []string{"-Wl,-T," + filepath.Join(b.root, "lib", "link.ld"), "-o", out}, objects, lib)
	return tool(args)
}

func (b *builder) compile(source, object string, extra ...string) error {
	root, err := filepath.Abs(b.root)
	if err != nil {
		return err
	}
	args := slices.Concat(compileFlags, []string{
		"-I" + filepath.Join(b.root, "lib"),
		"-ffile-prefix-map=" + root + "=.", "-ffile-prefix-map=" + b.root + "=.", "-ffile-prefix-map=" + b.tmp + "=.",
	}, extra, []string{source, "-o", object})
	return tool(args)
}

// tool runs the compiler driver and shows what it said when it fails.
func tool(args []string) error {
	out, err := exec.Command("gcc", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("gcc %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
