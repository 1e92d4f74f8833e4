// SPDX-License-Identifier: Apache-2.0

package elfdeps

import (
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotProgram says that a file is no ELF program for this machine.
var ErrNotProgram = errors.New("not an ELF program for x86-64")

// ErrLibrary says that a program needs a file that isn't here: a library, or
// the interpreter that loads libraries.
var ErrLibrary = errors.New("not found on this machine")

// maxFiles bounds the closure, against loops of symbolic names.
const maxFiles = 512

// Closure returns the absolute paths, as the loader spells them, of the files
// that program needs besides itself; none for a static program. A library that
// isn't found is an error that names who needs it.
func Closure(program string) ([]string, error) {
	interp, main, err := read(program)
	if err != nil {
		return nil, err
	}
	if interp == "" {
		return nil, nil
	}
	if _, err := os.Stat(interp); err != nil {
		return nil, fmt.Errorf("interpreter %s, needed by %s: %w", interp, program, ErrLibrary)
	}
	out := []string{interp}
	have := map[string]bool{filepath.Base(interp): true}
	system, err := systemDirs()
	if err != nil {
		return nil, err
	}
	for todo := []object{main}; len(todo) > 0; todo = todo[1:] {
		o := todo[0]
		for _, lib := range o.needed {
			if have[filepath.Base(lib)] {
				continue
			}
			have[filepath.Base(lib)] = true
			file, found, err := locate(lib, append(o.searchPath(main), system...))
			if err != nil {
				return nil, fmt.Errorf("%s, needed by %s: %w", lib, o.path, err)
			}
			if len(out) >= maxFiles {
				return nil, fmt.Errorf("%s needs more than %d libraries", program, maxFiles)
			}
			out = append(out, file)
			todo = append(todo, found)
		}
	}
	return out, nil
}

// object is what the dynamic section of one file says.
type object struct {
	path    string
	needed  []string
	rpath   []string
	runpath []string
}

// read opens an ELF file. interp is empty for libraries and static programs.
func read(path string) (interp string, o object, err error) {
	f, err := elf.Open(path)
	if err != nil {
		if errors.As(err, new(*elf.FormatError)) || errors.Is(err, io.EOF) {
			err = fmt.Errorf("%s: %w: %w", path, ErrNotProgram, err)
		}
		return "", o, err
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 || f.Class != elf.ELFCLASS64 || (f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN) {
		return "", o, fmt.Errorf("%s: %w", path, ErrNotProgram)
	}
	o.path = path
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		if p.Filesz > 4096 {
			return "", o, fmt.Errorf("%s: interpreter name of %d bytes", path, p.Filesz)
		}
		b := make([]byte, p.Filesz)
		if _, err := p.ReadAt(b, 0); err != nil {
			return "", o, fmt.Errorf("%s: interpreter: %w", path, err)
		}
		interp, _, _ = strings.Cut(string(b), "\x00")
	}
	for _, want := range []struct {
		tag elf.DynTag
		to  *[]string
	}{{elf.DT_NEEDED, &o.needed}, {elf.DT_RPATH, &o.rpath}, {elf.DT_RUNPATH, &o.runpath}} {
		// A static program has no dynamic section: no strings, no error.
		if *want.to, err = f.DynString(want.tag); err != nil {
			return "", o, fmt.Errorf("%s: dynamic section: %w", path, err)
		}
	}
	origin := filepath.Dir(path)
	o.rpath, o.runpath = expand(o.rpath, origin), expand(o.runpath, origin)
	return interp, o, nil
}

// expand splits search paths and replaces $ORIGIN.
func expand(paths []string, origin string) []string {
	var out []string
	for _, p := range paths {
		for _, d := range strings.Split(p, ":") {
			d = strings.NewReplacer("${ORIGIN}", origin, "$ORIGIN", origin).Replace(d)
			if filepath.IsAbs(d) {
				out = append(out, d)
			}
		}
	}
	return out
}

// searchPath is ld.so(8)'s order, without the caches.
func (o object) searchPath(main object) []string {
	var dirs []string
	if len(o.runpath) == 0 {
		dirs = append(append(dirs, o.rpath...), main.rpath...)
	}
	dirs = append(dirs, filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))...)
	return append(dirs, o.runpath...)
}

// locate finds a library that is of the right kind.
func locate(lib string, dirs []string) (string, object, error) {
	if strings.Contains(lib, "/") {
		_, o, err := read(lib)
		if errors.Is(err, os.ErrNotExist) {
			err = ErrLibrary
		}
		return lib, o, err
	}
	for _, d := range dirs {
		file := filepath.Join(d, lib)
		if _, err := os.Stat(file); err != nil {
			continue
		}
		if _, o, err := read(file); err == nil {
			return file, o, nil
		} else if !errors.Is(err, ErrNotProgram) {
			return "", object{}, err
		}
	}
	return "", object{}, ErrLibrary
}

// systemDirs are the loader's own directories and those of /etc/ld.so.conf.
func systemDirs() ([]string, error) {
	dirs := []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}
	more, err := confDirs("/etc/ld.so.conf", 0)
	return append(dirs, more...), err
}

func confDirs(file string, depth int) ([]string, error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) || depth > 8 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		line, _, _ := strings.Cut(s.Text(), "#")
		line = strings.TrimSpace(line)
		pattern, include := strings.CutPrefix(line, "include ")
		if !include {
			if filepath.IsAbs(line) {
				out = append(out, line)
			}
			continue
		}
		pattern = strings.TrimSpace(pattern)
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(filepath.Dir(file), pattern)
		}
		matches, _ := filepath.Glob(pattern)
		for _, m := range matches {
			more, err := confDirs(m, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
	}
	return out, nil
}
