// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("o", "bin", "directory for the ELF images")
	flag.Parse()
	if err := run(".", *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

// run builds the named guests, or all under root/tests, into out.
func run(root, out string, names []string) error {
	if len(names) == 0 {
		dirs, err := filepath.Glob(filepath.Join(root, "tests", "*", "main.c"))
		if err != nil {
			return err
		}
		for _, d := range dirs {
			names = append(names, filepath.Base(filepath.Dir(d)))
		}
	}
	tmp, err := os.MkdirTemp("", "guest")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	b := builder{root: root, tmp: tmp}
	lib, err := b.library()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := b.guest(name, lib, filepath.Join(out, name+".elf")); err != nil {
			return fmt.Errorf("guest %s: %w", name, err)
		}
	}
	return nil
}
